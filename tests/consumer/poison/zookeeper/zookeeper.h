#error "a user of zklock must not need a ZooKeeper header"
