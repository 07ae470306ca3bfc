#error "a user of zklock must not need an OpenSSL header"
