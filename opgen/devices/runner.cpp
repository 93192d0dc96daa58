// A runner for boards without Python, on the vendor's C interface: one file, no header of the vendor's.
//
//   g++ -O2 -std=c++17 runner.cpp -o runner -ldl
//   opgen run suite.h5 --backend "cmd:ssh board ./runner" -o results.h5
//
// It reads frames from its standard input and writes frames to its standard output (BACKENDS.md). It looks for the vendor's
// libraries in the files and folders of $OPGEN_OPAPI, then where the system's loader does. $OPGEN_DEVICE is the number of the device.
#include <dlfcn.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using Bytes = std::vector<char>;

// JSON -----------------------------------------------------------------------------------------------------------------------------
struct Json {
    enum Type { Null, Bool, Number, Text, List, Object } type = Null;
    bool truth = false;
    double real = 0;
    int64_t whole = 0;  // and where it does not fit, its bits as an unsigned number
    std::string text;
    std::vector<Json> list;
    std::map<std::string, Json> object;

    const Json& operator[](const std::string& key) const {
        static const Json none;
        auto found = object.find(key);
        return found == object.end() ? none : found->second;
    }
    explicit operator bool() const { return type != Null; }
};

class Parser {
  public:
    explicit Parser(const std::string& text) : at(text.c_str()), end(at + text.size()) {}
    Json value() {
        skip();
        Json made;
        if (take("null")) return made;
        if (take("true") || take("false")) {
            made.type = Json::Bool;
            made.truth = at[-2] == 'u';
        } else if (*at == '"') {
            made.type = Json::Text;
            made.text = string();
        } else if (*at == '[') {
            made.type = Json::List;
            for (++at; !closed(']');) made.list.push_back(value());
        } else if (*at == '{') {
            made.type = Json::Object;
            for (++at; !closed('}');) {
                std::string key = string();
                skip();
                expect(':');
                made.object[key] = value();
            }
        } else {
            number(made);
        }
        return made;
    }

  private:
    const char *at, *end;

    void skip() {
        while (at < end && std::strchr(" \t\r\n", *at)) ++at;
    }
    bool take(const char* word) {
        size_t length = std::strlen(word);
        bool there = size_t(end - at) >= length && !std::strncmp(at, word, length);
        if (there) at += length;
        return there;
    }
    void expect(char sign) {
        if (at >= end || *at != sign) throw std::runtime_error(std::string("JSON lacks ") + sign);
        ++at;
    }
    bool closed(char sign) {
        skip();
        if (at < end && *at == ',') ++at, skip();
        bool done = at >= end || *at == sign;
        if (done) expect(sign);
        return done;
    }
    std::string string() {
        expect('"');
        std::string made;
        while (at < end && *at != '"') {
            if (*at != '\\') {
                made += *at++;
                continue;
            }
            ++at;
            static const std::map<char, char> escapes{{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'b', '\b'}, {'f', '\f'}};
            if (*at == 'u') {  // as opgen writes them, names are ASCII
                made += char(std::strtol(std::string(at + 1, 4).c_str(), nullptr, 16));
                at += 5;
            } else {
                auto found = escapes.find(*at);
                made += found == escapes.end() ? *at : found->second;
                ++at;
            }
        }
        expect('"');
        return made;
    }
    void number(Json& made) {
        made.type = Json::Number;
        if (take("NaN")) made.real = NAN;
        else if (take("Infinity")) made.real = INFINITY;
        else if (take("-Infinity")) made.real = -INFINITY;
        else {
            char *stop, *other;
            made.real = std::strtod(at, &stop);
            made.whole = *at == '-' ? std::strtoll(at, &other, 10) : int64_t(std::strtoull(at, &other, 10));
            if (stop == at) throw std::runtime_error("JSON has no value where one belongs");
            at = stop;
        }
    }
};

static std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (unsigned char sign : text) {
        char code[8];
        std::snprintf(code, sizeof code, "\\u%04x", sign);
        made += sign < 32 || sign > 126 || sign == '"' || sign == '\\' ? code : std::string(1, char(sign));
    }
    return made + '"';
}

// frames ---------------------------------------------------------------------------------------------------------------------------
using Arrays = std::map<std::string, Bytes>;

static FILE* answers;

static bool read_all(void* into, size_t count) { return std::fread(into, 1, count, stdin) == count; }

static bool read_frame(Json& head, Arrays& arrays) {
    char magic[4];
    uint32_t length;
    if (!read_all(magic, 4)) return false;
    if (std::memcmp(magic, "opg1", 4) || !read_all(&length, 4)) throw std::runtime_error("not a frame of this protocol");
    std::string text(length, '\0');
    if (!read_all(&text[0], length)) throw std::runtime_error("a frame ends too early");
    head = Parser(text).value();
    arrays.clear();
    for (const Json& array : head["arrays"].list) {  // of bytes
        Bytes& bytes = arrays[array["name"].text];
        bytes.resize(size_t(array["shape"].list.at(0).whole));
        if (!read_all(bytes.data(), bytes.size())) throw std::runtime_error("a frame ends too early");
    }
    return true;
}

static void write_frame(const std::string& members, const Arrays& arrays) {
    std::string head = "{" + members + ", \"arrays\": [";
    for (const auto& [name, bytes] : arrays)
        head += (head.back() == '[' ? "" : ", ") + ("{\"name\": " + quoted(name)) + ", \"dtype\": \"|u1\", \"shape\": [" +
                std::to_string(bytes.size()) + "]}";
    head += "]}";
    uint32_t length = uint32_t(head.size());
    std::fwrite("opg1", 1, 4, answers);
    std::fwrite(&length, 1, 4, answers);
    std::fwrite(head.data(), 1, head.size(), answers);
    for (const auto& array : arrays) std::fwrite(array.second.data(), 1, array.second.size(), answers);
    std::fflush(answers);
}

// the vendor's libraries -----------------------------------------------------------------------------------------------------------
static std::vector<void*> libraries;

static void open_libraries() {
    std::vector<std::string> places;
    if (const char* named = std::getenv("OPGEN_OPAPI")) {
        std::string path = named, place;
        for (size_t from = 0, to; from <= path.size(); from = to + 1) {
            to = std::min(path.find(':', from), path.size());
            if (!(place = path.substr(from, to - from)).empty()) places.push_back(place);
        }
    }
    for (const char* name : {"libascendcl.so", "libnnopbase.so", "libacl_rt.so", "libcust_opapi.so", "libopapi_math.so", "libopapi_nn.so",
                             "libopapi_cv.so", "libopapi_transformer.so", "libopapi.so"}) {
        void* library = nullptr;
        for (const std::string& place : places) {
            bool file = place.size() > 3 && place.compare(place.size() - 3, 3, ".so") == 0;
            if (!library && (!file || place.find(name) != std::string::npos))
                library = dlopen((file ? place : place + "/" + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
        }
        if (!library) library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
        if (library) libraries.push_back(library);
    }
}

static void* symbol(const std::string& name, bool must = true) {
    for (void* library : libraries)
        if (void* found = dlsym(library, name.c_str())) return found;
    if (must) throw std::runtime_error("no library has " + name);
    return nullptr;
}

template <class Result, class... Arguments> static Result call(const char* name, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(symbol(name))(arguments...);
}

static std::string last_message() {
    void* function = symbol("aclGetRecentErrMsg", false);
    const char* text = function ? reinterpret_cast<const char* (*)()>(function)() : nullptr;
    return text ? text : "";
}

static void ok(const char* name, int status) {
    if (status) throw std::runtime_error(std::string(name) + " returned " + std::to_string(status) + ": " + last_message());
}

// Memory of the device, given back at the end of its scope.
struct Memory {
    void* pointer = nullptr;
    size_t size;
    explicit Memory(size_t bytes) : size(bytes ? bytes : 1) { ok("aclrtMalloc", call<int>("aclrtMalloc", &pointer, size, 0)); }
    Memory(const Memory&) = delete;
    ~Memory() { call<int>("aclrtFree", pointer); }
    void write(const Bytes& from) {
        if (!from.empty()) ok("aclrtMemcpy", call<int>("aclrtMemcpy", pointer, size, (const void*)from.data(), from.size(), 1));
    }
    void read(Bytes& into) {
        if (!into.empty()) ok("aclrtMemcpy", call<int>("aclrtMemcpy", (void*)into.data(), into.size(), (const void*)pointer, into.size(), 2));
    }
};

// What a call passes. Integers and pointers go through one sort of registers and then the stack, at most eight reals through another;
// so a function of any signature can be called as one that takes all integers first, and the reals behind them.
struct Passed {
    static constexpr size_t MOST = 64;
    uint64_t whole[MOST] = {};
    double reals[8] = {};
    size_t wholes = 0, real = 0;
    std::vector<std::pair<const char*, void*>> made;  // with what gives each back
    std::vector<std::string> texts;

    void add(uint64_t value) {
        if (wholes == MOST) throw std::runtime_error("too many arguments");
        whole[wholes++] = value;
    }
    void add_real(double value) {
        if (real == 8) throw std::runtime_error("too many real arguments");
        reals[real++] = value;
    }
    void* keep(const char* destroy, void* object) {
        if (!object) throw std::runtime_error(std::string("a null pointer, where ") + destroy + " gives back what there should be");
        made.emplace_back(destroy, object);
        return object;
    }
    ~Passed() {
        for (size_t i = made.size(); i-- > 0;) call<int>(made[i].first, made[i].second);
    }
    template <size_t... I> int run(void* function, std::index_sequence<I...>) const {
        using Function = int (*)(decltype(whole[I])..., double, double, double, double, double, double, double, double);
        using Plain = int (*)(std::decay_t<decltype(whole[I])>..., double, double, double, double, double, double, double, double);
        static_assert(sizeof(Function) == sizeof(Plain), "");
        return reinterpret_cast<Plain>(function)(whole[I]..., reals[0], reals[1], reals[2], reals[3], reals[4], reals[5], reals[6], reals[7]);
    }
    int run(void* function) const { return run(function, std::make_index_sequence<MOST>()); }
};

static std::vector<int64_t> wholes(const Json& list) {
    std::vector<int64_t> made;
    for (const Json& item : list.list) made.push_back(item.whole);
    made.reserve(1);  // a valid pointer, also where there are none
    return made;
}

using Buffers = std::map<std::string, Memory>;

static void* tensor_of(Passed& passed, const Json& tensor, Buffers& buffers, bool owned = true) {
    if (!tensor) return nullptr;
    std::vector<int64_t> shape = wholes(tensor["shape"]), strides = wholes(tensor["strides"]), storage = wholes(tensor["storage"]);
    auto buffer = buffers.find(tensor["buffer"].text);
    void* object = call<void*>("aclCreateTensor", (const int64_t*)shape.data(), uint64_t(shape.size()), int(tensor["dtype"].whole),
                               (const int64_t*)(tensor["strides"] ? strides.data() : nullptr), tensor["offset"].whole,
                               int(tensor["format"].whole), (const int64_t*)storage.data(), uint64_t(storage.size()),
                               buffer == buffers.end() ? nullptr : buffer->second.pointer);
    return owned ? passed.keep("aclDestroyTensor", object) : object;
}

template <class Item> static void add_array(Passed& passed, const char* create, const char* destroy, const std::vector<Item>& items) {
    Item* copy = new Item[items.size() + 1]();  // bool has no vector of its own
    for (size_t i = 0; i < items.size(); i++) copy[i] = items[i];
    void* object = call<void*>(create, (const Item*)copy, uint64_t(items.size()));
    delete[] copy;
    passed.add(uint64_t(passed.keep(destroy, object)));
}

static void add_argument(Passed& passed, const Json& argument, Buffers& buffers) {
    const std::string& kind = argument["kind"].text;
    const Json& value = argument["value"];
    if (kind == "double") passed.add_real(value.real);
    else if (kind == "float") {
        float narrow = float(value.real);
        double wide = 0;
        std::memcpy(&wide, &narrow, sizeof narrow);
        passed.add_real(wide);
    } else if (!value) passed.add(0);
    else if (kind == "int") passed.add(uint64_t(value.whole));
    else if (kind == "bool") passed.add(value.truth);
    else if (kind == "string") {
        char* text = strdup(value.text.c_str());  // as long as the process: the library may keep it
        passed.add(uint64_t(text));
    } else if (kind == "tensor") passed.add(uint64_t(tensor_of(passed, value, buffers)));
    else if (kind == "tensors") {
        std::vector<void*> tensors;
        for (const Json& tensor : value.list) tensors.push_back(tensor_of(passed, tensor, buffers, false));
        tensors.reserve(1);
        void* list = call<void*>("aclCreateTensorList", (void* const*)tensors.data(), uint64_t(tensors.size()));
        passed.add(uint64_t(passed.keep("aclDestroyTensorList", list)));
    } else if (kind == "scalar") {
        Bytes raw;
        for (const Json& byte : value["bytes"].list) raw.push_back(char(byte.whole));
        passed.add(uint64_t(passed.keep("aclDestroyScalar", call<void*>("aclCreateScalar", (void*)raw.data(), int(value["dtype"].whole)))));
    } else if (kind == "ints") add_array(passed, "aclCreateIntArray", "aclDestroyIntArray", wholes(value));
    else if (kind == "bools") {
        std::vector<bool> items;
        for (const Json& item : value.list) items.push_back(item.truth);
        add_array<bool>(passed, "aclCreateBoolArray", "aclDestroyBoolArray", items);
    } else if (kind == "floats") {
        std::vector<float> items;
        for (const Json& item : value.list) items.push_back(float(item.real));
        add_array(passed, "aclCreateFloatArray", "aclDestroyFloatArray", items);
    } else throw std::runtime_error("a kind of argument that this runner does not know: " + kind);
}

// Both phases of a call, or the first alone; members of the answer's head, and the buffers that were asked for.
static std::string answer(const Json& head, Arrays& arrays, void* stream) {
    const std::string& api = head["api"].text;
    std::string said;
    try {
        void *first = symbol(api + "GetWorkspaceSize"), *second = symbol(api);
        Buffers buffers;
        for (auto& [name, bytes] : arrays) buffers.try_emplace(name, bytes.size()).first->second.write(bytes);
        Passed passed;
        for (const Json& argument : head["arguments"].list) add_argument(passed, argument, buffers);
        uint64_t size = 0;
        void* executor = nullptr;
        passed.add(uint64_t(&size));
        passed.add(uint64_t(&executor));
        int status = passed.run(first);
        said = "\"status\": " + std::to_string(status);
        if (status || !head["run"].truth) {
            arrays.clear();
            return said + (status ? ", \"error\": " + quoted(last_message()) : "");
        }
        Memory workspace(size);
        status = reinterpret_cast<int (*)(void*, uint64_t, void*, void*)>(second)(size ? workspace.pointer : nullptr, size, executor, stream);
        if (!status) status = call<int>("aclrtSynchronizeStream", stream);
        said += ", \"run_status\": " + std::to_string(status) + (status ? ", \"error\": " + quoted(last_message()) : "");
        Arrays outputs;
        for (const Json& name : head["outputs"].list)
            if (!status) buffers.at(name.text).read(outputs[name.text] = arrays.at(name.text));
        arrays = std::move(outputs);
        return said;
    } catch (const std::exception& error) {
        arrays.clear();
        if (std::strncmp(error.what(), "no library has", 14) == 0) return "\"status\": \"skipped\", \"error\": " + quoted(error.what());
        return (said.empty() ? "\"status\": \"unusable\"" : said + ", \"run_status\": \"unusable\"") + ", \"error\": " + quoted(error.what());
    }
}

int main() try {
    answers = fdopen(dup(1), "wb");
    dup2(2, 1);  // what the libraries print is no frame
    open_libraries();
    const char* number = std::getenv("OPGEN_DEVICE");
    int status = call<int>("aclInit", (const char*)nullptr);
    ok("aclInit", status == 100002 ? 0 : status);  // it has been called before
    ok("aclrtSetDevice", call<int>("aclrtSetDevice", int32_t(number ? std::atoi(number) : 0)));
    void* stream = nullptr;
    ok("aclrtCreateStream", call<int>("aclrtCreateStream", &stream));
    void* name = symbol("aclrtGetSocName", false);
    std::string soc = name ? reinterpret_cast<const char* (*)()>(name)() : "";
    write_frame("\"in_flight\": 8, \"numeric\": true, \"facts\": {\"soc\": " + quoted(soc) + "}", {});
    Json head;
    Arrays arrays;
    while (read_frame(head, arrays)) {
        std::string said = answer(head, arrays, stream);
        write_frame("\"case\": " + quoted(head["case"].text) + ", " + said, arrays);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
