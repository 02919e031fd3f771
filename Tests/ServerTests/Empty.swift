// until the server's tests land
