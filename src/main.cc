// The program. Everything it does stands in app/.

int main() { return 0; }
