# Makes zklock::kerberos, MIT's Kerberos and its GSSAPI, if they are there. Also used by the installed package.
string(CONCAT ZKLOCK_NO_KERBEROS
  "MIT's Kerberos (gssapi/gssapi_ext.h, krb5/krb5.h, libgssapi_krb5, libkrb5) was not found. On Debian and Ubuntu: "
  "apt-get install libkrb5-dev. Elsewhere -DCMAKE_PREFIX_PATH=... tells where it is. Without SASL it is not needed: "
  "-DZKLOCK_SASL=OFF.")
if(NOT TARGET zklock::kerberos)
  find_path(Kerberos_INCLUDE_DIR NAMES gssapi/gssapi_ext.h)
  find_path(Kerberos_KRB5_INCLUDE_DIR NAMES krb5/krb5.h)
  find_library(Kerberos_GSSAPI_LIBRARY gssapi_krb5)
  find_library(Kerberos_KRB5_LIBRARY krb5)
  mark_as_advanced(Kerberos_INCLUDE_DIR Kerberos_KRB5_INCLUDE_DIR Kerberos_GSSAPI_LIBRARY Kerberos_KRB5_LIBRARY)
  if(Kerberos_INCLUDE_DIR AND Kerberos_KRB5_INCLUDE_DIR AND Kerberos_GSSAPI_LIBRARY AND Kerberos_KRB5_LIBRARY)
    add_library(zklock::kerberos INTERFACE IMPORTED GLOBAL)
    set_target_properties(zklock::kerberos PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${Kerberos_INCLUDE_DIR};${Kerberos_KRB5_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES "${Kerberos_GSSAPI_LIBRARY};${Kerberos_KRB5_LIBRARY}")
  endif()
endif()
