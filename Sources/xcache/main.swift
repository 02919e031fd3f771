XCache.main()
