/* A bundle read without opgen: every tensor that has data, as dtype, number of elements, first value and sum. Complex values count as
   two. Written from opgen/bundle/FORMAT.md; HDF5 itself turns every stored type, BFLOAT16 included, into double. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int dtype; long long position, elements; } Row;

static void fail(const char *what) { fprintf(stderr, "reader: %s\n", what); exit(1); }

static hid_t words(hid_t stored) {                      /* the enumeration of a table's dtype column, as int */
    hid_t small = H5Tget_member_type(stored, H5Tget_member_index(stored, "dtype"));
    hid_t wide = H5Tenum_create(H5T_NATIVE_INT);
    for (int i = 0; i < H5Tget_nmembers(small); i++) {
        signed char code;
        H5Tget_member_value(small, i, &code);
        int value = code;
        char *name = H5Tget_member_name(small, i);
        H5Tenum_insert(wide, name, &value);
        H5free_memory(name);
    }
    return wide;
}

static hid_t pair(void) {                               /* what h5py calls a complex number */
    hid_t kind = H5Tcreate(H5T_COMPOUND, 2 * sizeof(double));
    H5Tinsert(kind, "r", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(kind, "i", sizeof(double), H5T_NATIVE_DOUBLE);
    return kind;
}

int main(int argc, char **argv) {
    hid_t file = argc == 2 ? H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    if (file < 0) fail("expects a bundle");
    hid_t table = H5Dopen2(file, "tensors", H5P_DEFAULT), stored = H5Dget_type(table), wide = words(stored);
    hid_t kind = H5Tcreate(H5T_COMPOUND, sizeof(Row)), complex = pair();
    H5Tinsert(kind, "dtype", HOFFSET(Row, dtype), wide);
    H5Tinsert(kind, "position", HOFFSET(Row, position), H5T_NATIVE_LLONG);
    H5Tinsert(kind, "elements", HOFFSET(Row, elements), H5T_NATIVE_LLONG);
    hsize_t count = (hsize_t)H5Sget_simple_extent_npoints(H5Dget_space(table));
    Row *rows = malloc((count + 1) * sizeof *rows);
    if (H5Dread(table, kind, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0) fail("cannot read /tensors");
    for (hsize_t i = 0; i < count; i++) {
        if (rows[i].position < 0) continue;
        char name[64] = "data/";
        H5Tenum_nameof(wide, &rows[i].dtype, name + 5, sizeof name - 5);
        hsize_t start = (hsize_t)rows[i].position, n = (hsize_t)rows[i].elements;
        int parts = strncmp(name + 5, "COMPLEX", 7) ? 1 : 2;
        double *values = calloc(n * (hsize_t)parts + 1, sizeof *values), sum = 0;
        if (n > 0) {
            hid_t blob = H5Dopen2(file, name, H5P_DEFAULT), all = H5Dget_space(blob), here = H5Screate_simple(1, &n, NULL);
            H5Sselect_hyperslab(all, H5S_SELECT_SET, &start, NULL, &n, NULL);
            if (H5Dread(blob, parts == 2 ? complex : H5T_NATIVE_DOUBLE, here, all, H5P_DEFAULT, values) < 0) fail(name);
            H5Sclose(here); H5Sclose(all); H5Dclose(blob);
        }
        for (hsize_t k = 0; k < n * (hsize_t)parts; k++) sum += values[k];
        printf("%llu %s %llu %.17g %.17g\n", (unsigned long long)i, name + 5, (unsigned long long)n, values[0], sum);
        free(values);
    }
    free(rows);
    return H5Fclose(file) < 0;
}
