/* Names of functions, including static ones, from the symbol tables of the files that a process has mapped. ELF files are parsed here
   rather than by a library, so that the command and the companion run wherever librunloop does. */
#include "Symbols.h"
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct Symbol {
    uint64_t address, size;
    const char *name;
};

/* An executable mapping of a part of a file. */
struct Module {
    struct Module *next;
    uint64_t start, end, offset;
    char *path;
    int isRead, isOurs;
    uint64_t shift; /* what to subtract from an address in the process for the address in the file's tables */
    struct Symbol *symbols;
    size_t count;
    struct Mapped {
        const char *content;
        size_t size;
    } files[2]; /* the files that contain the symbols' names */
};

struct Module *readModules(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[8192], rights[8], name[4096];
    struct Module *first = NULL, **last = &first;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long start, end, offset;
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, rights, &offset, name) != 5 ||
            strchr(rights, 'x') == NULL || name[0] != '/')
            continue;
        struct Module *module = malloc(sizeof *module);
        if (module == NULL)
            break;
        *module = (struct Module){.start = start, .end = end, .offset = offset, .path = strdup(name)};
        const char *base = strrchr(name, '/') + 1;
        module->isOurs = strncmp(base, "librunloop.so", 13) == 0;
        *last = module;
        last = &module->next;
    }
    if (file != NULL)
        fclose(file);
    return first;
}

void freeModules(struct Module *modules)
{
    while (modules != NULL) {
        struct Module *next = modules->next;
        for (int index = 0; index < 2; index++)
            if (modules->files[index].content != NULL)
                munmap((void *)(uintptr_t)modules->files[index].content, modules->files[index].size);
        free(modules->symbols);
        free(modules->path);
        free(modules);
        modules = next;
    }
}

/* Maps a file into memory, until the module is freed. Returns NULL on failure. */
static const char *mapFile(struct Module *module, const char *path, size_t *size)
{
    struct stat status;
    struct Mapped *place = &module->files[module->files[0].content != NULL];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *content = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
        *size = (size_t)status.st_size;
        content = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    if (content == MAP_FAILED)
        return NULL;
    *place = (struct Mapped){content, *size};
    return content;
}

/* Returns a table within a file; NULL if the table is not entirely inside the file. */
static const void *table(const char *file, size_t size, uint64_t offset, uint64_t count, size_t each)
{
    if (offset > size || count > (size - offset) / each || offset % 4 != 0)
        return NULL;
    return file + offset;
}

static const Elf64_Shdr *sections(const char *file, size_t size, size_t *count)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    *count = 0;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shentsize != sizeof(Elf64_Shdr))
        return NULL;
    const Elf64_Shdr *found = table(file, size, header->e_shoff, header->e_shnum, sizeof *found);
    *count = found ? header->e_shnum : 0;
    return found;
}

static int compareSymbols(const void *left, const void *right)
{
    const struct Symbol *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Adds the functions in all symbol tables of one kind. */
static void addSymbols(struct Module *module, const char *file, size_t size, uint32_t kind)
{
    size_t count;
    const Elf64_Shdr *all = sections(file, size, &count);
    for (size_t index = 0; index < count; index++) {
        if (all[index].sh_type != kind || all[index].sh_link >= count)
            continue;
        const Elf64_Shdr *texts = &all[all[index].sh_link];
        size_t symbolCount = all[index].sh_size / sizeof(Elf64_Sym);
        const Elf64_Sym *symbols = table(file, size, all[index].sh_offset, symbolCount, sizeof *symbols);
        const char *names = table(file, size, texts->sh_offset, texts->sh_size, 1);
        if (symbols == NULL || names == NULL || texts->sh_size == 0 || names[texts->sh_size - 1] != 0)
            continue;
        void *more = realloc(module->symbols, (module->count + symbolCount + 1) * sizeof *module->symbols);
        if (more == NULL)
            continue;
        module->symbols = more;
        for (size_t number = 0; number < symbolCount; number++)
            if (ELF64_ST_TYPE(symbols[number].st_info) == STT_FUNC && symbols[number].st_value != 0 &&
                symbols[number].st_name < texts->sh_size)
                module->symbols[module->count++] =
                    (struct Symbol){symbols[number].st_value, symbols[number].st_size, names + symbols[number].st_name};
    }
}

/* Adds symbols that were stripped into a separate file, which is found by the build ID. */
static void addDebugSymbols(struct Module *module, const char *file, size_t size)
{
    size_t count;
    const Elf64_Shdr *all = sections(file, size, &count);
    for (size_t index = 0; index < count; index++) {
        const Elf64_Nhdr *note = table(file, size, all[index].sh_offset, all[index].sh_size, 1);
        if (all[index].sh_type != SHT_NOTE || note == NULL || all[index].sh_size < sizeof *note + 4 ||
            note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || note->n_descsz < 2 || note->n_descsz > 64 ||
            all[index].sh_size < sizeof *note + 4 + note->n_descsz)
            continue;
        const unsigned char *id = (const unsigned char *)(note + 1) + 4;
        char path[256] = "/usr/lib/debug/.build-id/";
        for (uint32_t byte = 0; byte < note->n_descsz; byte++)
            snprintf(path + strlen(path), sizeof path - strlen(path), byte == 0 ? "%02x/" : "%02x", id[byte]);
        strcat(path, ".debug");
        size_t debugSize;
        const char *debug = mapFile(module, path, &debugSize);
        if (debug != NULL)
            addSymbols(module, debug, debugSize, SHT_SYMTAB);
    }
}

static void readSymbols(struct Module *module)
{
    size_t size, count = 0;
    module->isRead = 1;
    const char *file = module->path ? mapFile(module, module->path, &size) : NULL;
    if (file == NULL || sections(file, size, &count) == NULL)
        return;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    const Elf64_Phdr *parts = table(file, size, header->e_phoff, header->e_phnum, sizeof *parts);
    for (size_t index = 0; parts != NULL && index < header->e_phnum; index++)
        if (parts[index].p_type == PT_LOAD && (parts[index].p_flags & PF_X) &&
            module->offset >= (parts[index].p_offset & ~4095ull) &&
            module->offset < parts[index].p_offset + parts[index].p_filesz)
            module->shift = module->start - module->offset + parts[index].p_offset - parts[index].p_vaddr;
    addSymbols(module, file, size, SHT_SYMTAB);
    if (module->count == 0)
        addDebugSymbols(module, file, size);
    if (module->count == 0)
        addSymbols(module, file, size, SHT_DYNSYM);
    if (module->count > 0)
        qsort(module->symbols, module->count, sizeof *module->symbols, compareSymbols);
}

const char *functionName(struct Module *modules, uint64_t address, int *isOurs)
{
    *isOurs = 0;
    for (struct Module *module = modules; module != NULL; module = module->next) {
        if (address < module->start || address >= module->end)
            continue;
        *isOurs = module->isOurs;
        if (!module->isRead)
            readSymbols(module);
        uint64_t wanted = address - module->shift;
        size_t low = 0, high = module->count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (module->symbols[middle].address <= wanted)
                low = middle + 1;
            else
                high = middle;
        }
        /* A symbol without a size, as in hand-written assembly, extends to the next one. */
        for (; low > 0; low--) {
            const struct Symbol *symbol = &module->symbols[low - 1];
            if (symbol->size == 0 || wanted - symbol->address < symbol->size)
                return symbol->name;
            if (wanted - symbol->address > 1 << 20)
                return NULL;
        }
        return NULL;
    }
    return NULL;
}
