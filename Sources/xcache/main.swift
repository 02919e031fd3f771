print("xcache")
