self.imported = true;
