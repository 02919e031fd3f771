FleetTool.main()
