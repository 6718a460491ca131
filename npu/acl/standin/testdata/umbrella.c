// libascendcl.so: nothing but its dependencies.
extern int standin_on(int);
__attribute__((visibility("hidden"))) int (*const standin_umbrella)(int) __attribute__((used)) = standin_on;
