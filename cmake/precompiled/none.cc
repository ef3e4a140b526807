// A target must have a source to have headers that are read ahead.
int main() {}
