namespace softrnic {}
