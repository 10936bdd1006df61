/* The names in a folder of sysfs or tracefs. */
#ifndef NSPROF_NAME_LIST_H
#define NSPROF_NAME_LIST_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Sets *@names to the names in the folder @path below @dir that are @wanted, sorted; NULL if there are
 * none. @wanted gets the folder's descriptor. Returns their number. Release with name_list_free().
 */
size_t name_list(int dir, const char *path, bool (*wanted)(int folder, const struct dirent *e), char ***names);
void name_list_free(char **names, size_t n);

#endif
