// Ray caster of textured rooms: colour frames as a camera would give them, and exact depth.
//
// One source for both targets; each pixel is computed by the same functions:
//   nvcc -O3 --use_fast_math -shared -Xcompiler -fPIC renderer.cu -o librenderer.so        GPU
//   g++ -O2 -fopenmp -shared -fPIC -x c++ renderer.cu -o librenderer.so                    CPU
//
// World: metres, y down, walls along the axes. A scene is a chain of up to three cells (boxes that
// touch: room, doorway, second room), each closed except where it touches another one, and of
// objects inside them. The layout of the scene's numbers is shared with rooms.py, which checks it
// through RendererLayout().
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define DEVICE_FN __device__ __forceinline__
#else
#define DEVICE_FN static inline
#endif

namespace {

constexpr int kCells = 3;
constexpr int kCellFloats = 16;  // low xyz, high xyz, light xyz, light rgb, ambient rgb, shadow
constexpr int kObjects = 14;
constexpr int kObjectFloats = 10;  // shape, centre xyz, half size xyz, cos yaw, sin yaw, cell
constexpr int kMaterials = 6 * kCells + kObjects;
// pattern, colour a rgb, colour b rgb, texture matrix (9), texture offset (3), relief of the
// brightness, wobble of stripes, frequency of the relief, two spare
constexpr int kMaterialFloats = 24;
constexpr int kObjectsAt = kCells * kCellFloats;
constexpr int kMaterialsAt = kObjectsAt + kObjects * kObjectFloats;
constexpr int kSceneFloats = kMaterialsAt + kMaterials * kMaterialFloats;
constexpr int kCameraFloats = 16;  // R (9, world from camera), centre xyz, fx, fy, gain, noise
constexpr int kShapeBox = 1, kShapeSphere = 2, kShapeCylinder = 3;

struct Vec {
  float x, y, z;
};
DEVICE_FN Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
DEVICE_FN Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
DEVICE_FN Vec operator*(Vec a, float s) { return {a.x * s, a.y * s, a.z * s}; }
DEVICE_FN float Dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
DEVICE_FN Vec Load(const float* p) { return {p[0], p[1], p[2]}; }
DEVICE_FN float Clamp01(float x) { return fminf(1.0f, fmaxf(0.0f, x)); }
DEVICE_FN float SafeInverse(float x) { return 1.0f / (fabsf(x) < 1e-9f ? copysignf(1e-9f, x) : x); }

// --- random numbers of a position --------------------------------------------------------------

DEVICE_FN uint32_t Mix(uint32_t h) {  // the finaliser of MurmurHash3
  h ^= h >> 16;
  h *= 0x85ebca6bU;
  h ^= h >> 13;
  h *= 0xc2b2ae35U;
  return h ^ (h >> 16);
}
DEVICE_FN float Unit(uint32_t h) { return static_cast<float>(h >> 8) * (1.0f / 16777216.0f); }
DEVICE_FN uint32_t CellHash(int x, int y, int z) {
  return Mix(static_cast<uint32_t>(x) +
             0x9e3779b9U *
                 Mix(static_cast<uint32_t>(y) + 0x9e3779b9U * Mix(static_cast<uint32_t>(z))));
}

struct Lattice {  // a point as lattice cell and position inside it
  int x, y, z;
  float u, v, w;
};
DEVICE_FN Lattice ToLattice(Vec p) {
  const float x = floorf(p.x), y = floorf(p.y), z = floorf(p.z);
  return {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z), p.x - x, p.y - y, p.z - z};
}
DEVICE_FN float Smooth(float t) { return t * t * (3.0f - 2.0f * t); }
DEVICE_FN float Lerp(float a, float b, float t) { return a + (b - a) * t; }

DEVICE_FN float Noise(Vec p) {  // in [0, 1], smooth, of unit frequency
  const Lattice q = ToLattice(p);
  const float u = Smooth(q.u), v = Smooth(q.v), w = Smooth(q.w);
  float plane[2];
  for (int k = 0; k < 2; ++k) {
    const float near =
        Lerp(Unit(CellHash(q.x, q.y, q.z + k)), Unit(CellHash(q.x + 1, q.y, q.z + k)), u);
    const float far =
        Lerp(Unit(CellHash(q.x, q.y + 1, q.z + k)), Unit(CellHash(q.x + 1, q.y + 1, q.z + k)), u);
    plane[k] = Lerp(near, far, v);
  }
  return Lerp(plane[0], plane[1], w);
}

DEVICE_FN float Turbulence(Vec p) {  // three octaves, in [0, 1]
  float sum = 0.0f, weight = 4.0f / 7.0f;
  for (int octave = 0; octave < 3; ++octave) {
    sum += weight * Noise(p);
    weight *= 0.5f;
    p = {2.03f * p.x + 31.7f, 2.03f * p.y + 11.3f, 2.03f * p.z + 23.9f};
  }
  return sum;
}

// --- patterns ----------------------------------------------------------------------------------

DEVICE_FN float Pattern(int kind, Vec p, float wobble) {  // mixing weight of the two colours
  const Lattice q = ToLattice(p);
  switch (kind) {
    case 1:  // checkers
      return ((q.x + q.y + q.z) & 1) ? 1.0f : 0.0f;
    case 2: {  // stripes
      const float s = p.x + wobble * (Noise(p * 0.7f) - 0.5f);
      return s - floorf(s) < 0.5f ? 1.0f : 0.0f;
    }
    case 3:  // blocks, each of its own shade
      return Unit(CellHash(q.x, q.y, q.z));
    case 4: {  // dots
      const uint32_t h = CellHash(q.x, q.y, q.z);
      const Vec d = {q.u - 0.35f - 0.3f * Unit(Mix(h + 1)), q.v - 0.35f - 0.3f * Unit(Mix(h + 2)),
                     q.w - 0.35f - 0.3f * Unit(Mix(h + 3))};
      return Dot(d, d) < 0.15f ? 0.5f + 0.5f * Unit(Mix(h + 4)) : 0.0f;
    }
    case 5: {  // bricks with joints
      const float x = 0.5f * p.x + 0.5f * static_cast<float>(q.y & 1);
      const float u = x - floorf(x);
      const bool joint = u < 0.06f || q.v < 0.12f;
      return joint ? 0.0f : 0.6f + 0.4f * Unit(CellHash(static_cast<int>(floorf(x)), q.y, 7));
    }
    default:  // clouds
      return 0.5f + 2.2f * (Turbulence(p) - 0.5f);
  }
}

DEVICE_FN Vec Albedo(const float* m, Vec local) {
  const Vec p = {Dot(Load(m + 7), local) + m[16], Dot(Load(m + 10), local) + m[17],
                 Dot(Load(m + 13), local) + m[18]};
  const float mix = Clamp01(Pattern(static_cast<int>(m[0] + 0.5f), p, m[20]));
  const float relief = 1.0f + 2.0f * m[19] * (Turbulence(p * m[21]) - 0.5f);
  return (Load(m + 1) * (1.0f - mix) + Load(m + 4) * mix) * relief;
}

// --- geometry ----------------------------------------------------------------------------------

struct Hit {
  float t;       // along the ray, in units of its direction
  Vec normal;    // towards the viewer's side
  Vec local;     // where the material is evaluated: the object's own axes, or the world
  int material;  // index into the scene's materials
  int cell;
};

DEVICE_FN bool InCell(const float* cell, Vec p) {
  return p.x >= cell[0] && p.x <= cell[3] && p.y >= cell[1] && p.y <= cell[4] && p.z >= cell[2] &&
         p.z <= cell[5];
}
DEVICE_FN int CellOf(const float* scene, Vec p, int fallback) {
  for (int i = 0; i < kCells; ++i) {
    if (InCell(scene + i * kCellFloats, p)) return i;
  }
  return fallback;
}

// Where the ray from inside a cell meets its wall: parameter, axis and side.
DEVICE_FN float ExitCell(const float* cell, Vec o, Vec d, int* face) {
  const Vec inv = {SafeInverse(d.x), SafeInverse(d.y), SafeInverse(d.z)};
  const float tx = ((inv.x > 0 ? cell[3] : cell[0]) - o.x) * inv.x;
  const float ty = ((inv.y > 0 ? cell[4] : cell[1]) - o.y) * inv.y;
  const float tz = ((inv.z > 0 ? cell[5] : cell[2]) - o.z) * inv.z;
  const float t = fminf(tx, fminf(ty, tz));
  *face = t == tx ? (inv.x > 0 ? 1 : 0) : t == ty ? (inv.y > 0 ? 3 : 2) : (inv.z > 0 ? 5 : 4);
  return fmaxf(t, 0.0f);
}

// Walls: leaves cell after cell through the openings until it meets something closed.
DEVICE_FN Hit TraceWalls(const float* scene, Vec o, Vec d) {
  int cell = CellOf(scene, o, 0), face = 0;
  float t = 0.0f;
  for (int step = 0; step < kCells + 1; ++step) {
    t = ExitCell(scene + cell * kCellFloats, o, d, &face);
    const Vec beyond = o + d * (t + 1e-4f * (1.0f + t));
    const int next = CellOf(scene, beyond, cell);
    if (next == cell) break;
    cell = next;
  }
  const float side = (face & 1) ? -1.0f : 1.0f;
  const int axis = face >> 1;
  const Vec normal = {axis == 0 ? side : 0.0f, axis == 1 ? side : 0.0f, axis == 2 ? side : 0.0f};
  return {t, normal, o + d * t, 6 * cell + face, cell};
}

DEVICE_FN Vec IntoObject(Vec v, float c, float s) {
  return {c * v.x - s * v.z, v.y, s * v.x + c * v.z};
}
DEVICE_FN Vec OutOfObject(Vec v, float c, float s) {
  return {c * v.x + s * v.z, v.y, c * v.z - s * v.x};
}

// Nearest intersection with a shape at the origin, with its half sizes; negative if there is none.
DEVICE_FN float MeetBox(Vec half, Vec o, Vec d, Vec* normal) {
  const Vec inv = {SafeInverse(d.x), SafeInverse(d.y), SafeInverse(d.z)};
  const float x0 = (-copysignf(half.x, d.x) - o.x) * inv.x,
              x1 = (copysignf(half.x, d.x) - o.x) * inv.x;
  const float y0 = (-copysignf(half.y, d.y) - o.y) * inv.y,
              y1 = (copysignf(half.y, d.y) - o.y) * inv.y;
  const float z0 = (-copysignf(half.z, d.z) - o.z) * inv.z,
              z1 = (copysignf(half.z, d.z) - o.z) * inv.z;
  const float near = fmaxf(x0, fmaxf(y0, z0)), far = fminf(x1, fminf(y1, z1));
  if (near > far) return -1.0f;
  *normal = near == x0   ? Vec{-copysignf(1.0f, d.x), 0, 0}
            : near == y0 ? Vec{0, -copysignf(1.0f, d.y), 0}
                         : Vec{0, 0, -copysignf(1.0f, d.z)};
  return near;
}

DEVICE_FN float MeetSphere(float radius, Vec o, Vec d, Vec* normal) {
  const float a = Dot(d, d), b = Dot(o, d), c = Dot(o, o) - radius * radius;
  const float root = b * b - a * c;
  if (root <= 0.0f) return -1.0f;
  const float t = (-b - sqrtf(root)) / a;
  *normal = (o + d * t) * (1.0f / radius);
  return t;
}

DEVICE_FN float MeetCylinder(float radius, float half_height, Vec o, Vec d, Vec* normal) {
  const float a = d.x * d.x + d.z * d.z, b = o.x * d.x + o.z * d.z;
  const float c = o.x * o.x + o.z * o.z - radius * radius, root = b * b - a * c;
  if (root <= 0.0f || a < 1e-12f) return -1.0f;
  const float side = (-b - sqrtf(root)) / a;
  if (side > 0.0f && fabsf(o.y + side * d.y) <= half_height) {
    *normal = {(o.x + side * d.x) / radius, 0.0f, (o.z + side * d.z) / radius};
    return side;
  }
  const float lid = (-copysignf(half_height, d.y) - o.y) * SafeInverse(d.y);
  const float x = o.x + lid * d.x, z = o.z + lid * d.z;
  if (x * x + z * z > radius * radius) return -1.0f;
  *normal = {0.0f, -copysignf(1.0f, d.y), 0.0f};
  return lid;
}

// Nearest intersection with object `p` in (1e-3, limit); negative if there is none.
DEVICE_FN float MeetObject(const float* p, Vec o, Vec d, float limit, Vec* normal, Vec* local) {
  const int shape = static_cast<int>(p[0] + 0.5f);
  if (shape == 0) return -1.0f;
  const Vec q = IntoObject(o - Load(p + 1), p[7], p[8]), e = IntoObject(d, p[7], p[8]);
  Vec n = {0.0f, 0.0f, 0.0f};
  const float t = shape == kShapeBox      ? MeetBox(Load(p + 4), q, e, &n)
                  : shape == kShapeSphere ? MeetSphere(p[4], q, e, &n)
                                          : MeetCylinder(p[4], p[5], q, e, &n);
  if (t < 1e-3f || t >= limit) return -1.0f;
  *normal = OutOfObject(n, p[7], p[8]);
  *local = q + e * t;
  return t;
}

DEVICE_FN Hit Trace(const float* scene, Vec o, Vec d) {
  Hit hit = TraceWalls(scene, o, d);
  for (int k = 0; k < kObjects; ++k) {
    const float* object = scene + kObjectsAt + k * kObjectFloats;
    const float t = MeetObject(object, o, d, hit.t, &hit.normal, &hit.local);
    if (t < 0.0f) continue;
    hit.t = t;
    hit.material = 6 * kCells + k;
    hit.cell = static_cast<int>(object[9] + 0.5f);
  }
  return hit;
}

DEVICE_FN bool Shadowed(const float* scene, int cell, Vec from, Vec to_light) {
  Vec normal, local;
  for (int k = 0; k < kObjects; ++k) {
    const float* object = scene + kObjectsAt + k * kObjectFloats;
    if (static_cast<int>(object[9] + 0.5f) != cell) continue;
    if (MeetObject(object, from, to_light, 1.0f, &normal, &local) > 0.0f) return true;
  }
  return false;
}

DEVICE_FN Vec Shade(const float* scene, Vec o, Vec d) {
  const Hit hit = Trace(scene, o, d);
  const float* cell = scene + hit.cell * kCellFloats;
  const Vec at = o + d * hit.t + hit.normal * 2e-3f, to_light = Load(cell + 6) - at;
  const float distance2 = Dot(to_light, to_light) + 1e-4f;
  float light =
      fmaxf(0.0f, Dot(hit.normal, to_light)) / sqrtf(distance2) / (1.0f + 0.06f * distance2);
  if (light > 0.0f && cell[15] > 0.0f && Shadowed(scene, hit.cell, at, to_light)) {
    light *= 1.0f - cell[15];
  }
  const Vec colour = Albedo(scene + kMaterialsAt + hit.material * kMaterialFloats, hit.local);
  return {colour.x * (cell[12] + cell[9] * light), colour.y * (cell[13] + cell[10] * light),
          colour.z * (cell[14] + cell[11] * light)};
}

DEVICE_FN Vec RayThrough(const float* camera, float x, float y) {  // of depth 1, in the world
  return {camera[0] * x + camera[1] * y + camera[2], camera[3] * x + camera[4] * y + camera[5],
          camera[6] * x + camera[7] * y + camera[8]};
}

// --- frames ------------------------------------------------------------------------------------

struct Frames {
  const float* scenes;   // [B, kSceneFloats]
  const float* cameras;  // [B * S, kCameraFloats], focal lengths in pixels of the depth map
  int per_scene;         // S
  int height, width;     // of the depth map
  int zoom;              // colour frames are zoom times as large
  int samples;           // per side and colour pixel
  uint32_t seed;
};

// Colour pixel (u, v) of frame f. Resizing by 1/zoom must give the depth map's grid, in which pixel
// u looks along (u - W/2) / fx: its centre lies at zoom * (u + 1/2) - 1/2 in the larger frame.
DEVICE_FN void ColourPixel(const Frames& a, uint8_t* colour, int64_t f, int pixel) {
  const int height = a.height * a.zoom, width = a.width * a.zoom;
  const int u = pixel % width, v = pixel / width;
  const float* scene = a.scenes + (f / a.per_scene) * kSceneFloats;
  const float* camera = a.cameras + f * kCameraFloats;
  const float zoom = static_cast<float>(a.zoom), step = 1.0f / static_cast<float>(a.samples);
  Vec sum = {0.0f, 0.0f, 0.0f};
  for (int i = 0; i < a.samples * a.samples; ++i) {
    const float du = (static_cast<float>(i % a.samples) + 0.5f) * step;
    const float dv = (static_cast<float>(i / a.samples) + 0.5f) * step;
    const float x = (static_cast<float>(u) + du) / zoom - 0.5f - 0.5f * static_cast<float>(a.width);
    const float y =
        (static_cast<float>(v) + dv) / zoom - 0.5f - 0.5f * static_cast<float>(a.height);
    sum = sum + Shade(scene, Load(camera + 9), RayThrough(camera, x / camera[12], y / camera[13]));
  }
  const float linear[3] = {sum.x, sum.y, sum.z};
  for (int c = 0; c < 3; ++c) {
    const uint32_t h = Mix(a.seed + Mix(static_cast<uint32_t>(3 * f + c)) + 0x9e3779b9U * pixel);
    // The sum of three uniform numbers has variance 1/4: nearly normal, and cheap.
    const float noise = 2.0f * (Unit(h) + Unit(Mix(h + 1)) + Unit(Mix(h + 2)) - 1.5f);
    const float value =
        sqrtf(fmaxf(0.0f, linear[c] * camera[14] * step * step)) + camera[15] * noise;
    colour[((f * 3 + c) * height + v) * width + u] =
        static_cast<uint8_t>(Clamp01(value) * 255.0f + 0.5f);
  }
}

DEVICE_FN void DepthPixel(const Frames& a, float* depth, int64_t f, int pixel) {
  const float* camera = a.cameras + f * kCameraFloats;
  const float x = static_cast<float>(pixel % a.width) - 0.5f * static_cast<float>(a.width);
  const float y = static_cast<float>(pixel / a.width) - 0.5f * static_cast<float>(a.height);
  const Vec ray = RayThrough(camera, x / camera[12], y / camera[13]);
  const float* scene = a.scenes + (f / a.per_scene) * kSceneFloats;
  depth[f * a.height * a.width + pixel] = Trace(scene, Load(camera + 9), ray).t;
}

// --- what a video codec does to a frame --------------------------------------------------------

DEVICE_FN float Cosine(int k, int n) {  // of the orthonormal 8-point transform
  constexpr float kPi = 3.14159265f;
  return (k == 0 ? 0.35355339f : 0.5f) *
         cosf(kPi * (2.0f * static_cast<float>(n) + 1.0f) * static_cast<float>(k) / 16.0f);
}

// One pass of the transform (or its inverse) along one direction of an 8x8 block.
DEVICE_FN void Transform8(float* block, const float* basis, int step, int stride, bool inverse) {
  for (int line = 0; line < 8; ++line) {
    float in[8];
    for (int n = 0; n < 8; ++n) in[n] = block[line * stride + n * step];
    for (int k = 0; k < 8; ++k) {
      float sum = 0.0f;
      for (int n = 0; n < 8; ++n) sum += in[n] * (inverse ? basis[n * 8 + k] : basis[k * 8 + n]);
      block[line * stride + k * step] = sum;
    }
  }
}

// Quantises an 8x8 block's frequencies with a step that grows with frequency, and drops those from
// `keep` on (chroma of half the resolution).
DEVICE_FN void Quantise(float* block, const float* basis, float step, int keep) {
  Transform8(block, basis, 1, 8, false);
  Transform8(block, basis, 8, 1, false);
  for (int i = 0; i < 64; ++i) {
    const int row = i / 8, column = i % 8;
    const float q = step * (1.0f + 0.25f * static_cast<float>(row + column));
    const bool dropped = row >= keep || column >= keep;
    // A dead zone, as encoders have: small coefficients vanish.
    const float magnitude = floorf(fabsf(block[i]) / q + 0.33f) * q;
    block[i] = dropped ? 0.0f : copysignf(magnitude, block[i]);
  }
  Transform8(block, basis, 8, 1, true);
  Transform8(block, basis, 1, 8, true);
}

// 8x8 block `index` of frame f, in place. Pixels beyond the frame repeat its border.
DEVICE_FN void CompressBlock(uint8_t* colour, const float* basis, float step, int64_t f, int index,
                             int height, int width) {
  const int across = (width + 7) / 8, v0 = index / across * 8, u0 = index % across * 8;
  uint8_t* planes[3];
  for (int c = 0; c < 3; ++c) planes[c] = colour + (f * 3 + c) * height * width;
  float luma[64], blue[64], red[64];
  for (int i = 0; i < 64; ++i) {
    const int v = v0 + i / 8 < height ? v0 + i / 8 : height - 1,
              u = u0 + i % 8 < width ? u0 + i % 8 : width - 1;
    const float r = planes[0][v * width + u], g = planes[1][v * width + u],
                b = planes[2][v * width + u];
    luma[i] = 0.299f * r + 0.587f * g + 0.114f * b;
    blue[i] = 0.564f * (b - luma[i]);
    red[i] = 0.713f * (r - luma[i]);
  }
  Quantise(luma, basis, step, 8);
  Quantise(blue, basis, 1.5f * step, 4);
  Quantise(red, basis, 1.5f * step, 4);
  for (int i = 0; i < 64; ++i) {
    const int v = v0 + i / 8, u = u0 + i % 8;
    if (v >= height || u >= width) continue;
    const float r = luma[i] + red[i] / 0.713f, b = luma[i] + blue[i] / 0.564f;
    const float g = (luma[i] - 0.299f * r - 0.114f * b) / 0.587f;
    const float rgb[3] = {r, g, b};
    for (int c = 0; c < 3; ++c) {
      planes[c][v * width + u] = static_cast<uint8_t>(fminf(255.0f, fmaxf(0.0f, rgb[c])) + 0.5f);
    }
  }
}

// --- resizing to the network's input -----------------------------------------------------------

DEVICE_FN float Bicubic(float x) {  // a = -0.5, the kernel of docs/conventions.md
  x = fabsf(x);
  if (x < 1.0f) return (1.5f * x - 2.5f) * x * x + 1.0f;
  if (x < 2.0f) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
  return 0.0f;
}

struct Taps {
  static constexpr int kMost = 16;
  int first, count;
  float weight[kMost];
};
// Taps for output position `i` when `in` pixels become `out`; `blur` widens the kernel.
DEVICE_FN Taps ResizeTaps(int i, int in, int out, float blur) {
  const float ratio = static_cast<float>(in) / static_cast<float>(out),
              scale = fmaxf(1.0f, ratio) * blur;
  const float centre = (static_cast<float>(i) + 0.5f) * ratio;
  Taps taps;
  taps.first = static_cast<int>(fmaxf(0.0f, floorf(centre - 2.0f * scale + 0.5f)));
  const int end =
      static_cast<int>(fminf(static_cast<float>(in), floorf(centre + 2.0f * scale + 0.5f)));
  taps.count = end - taps.first < Taps::kMost ? end - taps.first : Taps::kMost;
  float sum = 0.0f;
  for (int k = 0; k < taps.count; ++k) {
    taps.weight[k] = Bicubic((static_cast<float>(taps.first + k) + 0.5f - centre) / scale);
    sum += taps.weight[k];
  }
  for (int k = 0; k < taps.count; ++k) taps.weight[k] /= sum;
  return taps;
}

DEVICE_FN void ResizePixel(const uint8_t* in, uint8_t* out, int64_t f, int pixel, int height,
                           int width, int zoom, float blur) {
  const int u = pixel % width, v = pixel / width, wide = width * zoom;
  const Taps x = ResizeTaps(u, wide, width, blur), y = ResizeTaps(v, height * zoom, height, blur);
  for (int c = 0; c < 3; ++c) {
    const uint8_t* plane = in + (f * 3 + c) * height * zoom * wide;
    float sum = 0.0f;
    for (int j = 0; j < y.count; ++j) {
      float row = 0.0f;
      for (int i = 0; i < x.count; ++i)
        row += x.weight[i] * plane[(y.first + j) * wide + x.first + i];
      sum += y.weight[j] * row;
    }
    out[(f * 3 + c) * height * width + pixel] =
        static_cast<uint8_t>(fminf(255.0f, fmaxf(0.0f, sum)) + 0.5f);
  }
}

}  // namespace

// --- entry points: all pointers on the target's own memory; 0 on success -----------------------

#ifdef __CUDACC__
#define FOR_EACH(KERNEL, COUNT, FRAMES, STREAM, ...)                                          \
  KERNEL<<<dim3(((COUNT) + 127) / 128, FRAMES), 128, 0, static_cast<cudaStream_t>(STREAM)>>>( \
      __VA_ARGS__);                                                                           \
  return static_cast<int>(cudaGetLastError())

__global__ void ColourKernel(Frames a, uint8_t* colour) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel < a.height * a.zoom * a.width * a.zoom) ColourPixel(a, colour, blockIdx.y, pixel);
}
__global__ void DepthKernel(Frames a, float* depth) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel < a.height * a.width) DepthPixel(a, depth, blockIdx.y, pixel);
}
__global__ void CompressKernel(uint8_t* colour, const float* steps, int per_scene, int height,
                               int width) {
  __shared__ float basis[64];
  if (threadIdx.x < 64) basis[threadIdx.x] = Cosine(threadIdx.x / 8, threadIdx.x % 8);
  __syncthreads();
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  const float step = steps[blockIdx.y / per_scene];
  if (step > 0.0f && index < ((height + 7) / 8) * ((width + 7) / 8)) {
    CompressBlock(colour, basis, step, blockIdx.y, index, height, width);
  }
}
__global__ void ResizeKernel(const uint8_t* in, uint8_t* out, const float* blurs, int per_scene,
                             int height, int width, int zoom) {
  const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
  if (pixel < height * width) {
    ResizePixel(in, out, blockIdx.y, pixel, height, width, zoom, blurs[blockIdx.y / per_scene]);
  }
}
#endif

extern "C" int RenderColour(const float* scenes, const float* cameras, uint8_t* colour, int count,
                            int per_scene, int height, int width, int zoom, int samples,
                            uint32_t seed, void* stream) {
  const Frames a = {scenes, cameras, per_scene, height, width, zoom, samples, seed};
#ifdef __CUDACC__
  FOR_EACH(ColourKernel, height * zoom * width * zoom, count, stream, a, colour);
#else
  static_cast<void>(stream);
#pragma omp parallel for schedule(dynamic)
  for (int f = 0; f < count; ++f) {
    for (int pixel = 0; pixel < height * zoom * width * zoom; ++pixel)
      ColourPixel(a, colour, f, pixel);
  }
  return 0;
#endif
}

extern "C" int RenderDepth(const float* scenes, const float* cameras, float* depth, int count,
                           int per_scene, int height, int width, void* stream) {
  const Frames a = {scenes, cameras, per_scene, height, width, 1, 1, 0};
#ifdef __CUDACC__
  FOR_EACH(DepthKernel, height * width, count, stream, a, depth);
#else
  static_cast<void>(stream);
#pragma omp parallel for schedule(dynamic)
  for (int f = 0; f < count; ++f) {
    for (int pixel = 0; pixel < height * width; ++pixel) DepthPixel(a, depth, f, pixel);
  }
  return 0;
#endif
}

// steps [B]: quantiser step in grey levels of each scene's frames; 0 leaves them alone.
extern "C" int CompressFrames(uint8_t* colour, const float* steps, int count, int per_scene,
                              int height, int width, void* stream) {
  const int blocks = ((height + 7) / 8) * ((width + 7) / 8);
#ifdef __CUDACC__
  FOR_EACH(CompressKernel, blocks, count, stream, colour, steps, per_scene, height, width);
#else
  static_cast<void>(stream);
  float basis[64];
  for (int i = 0; i < 64; ++i) basis[i] = Cosine(i / 8, i % 8);
#pragma omp parallel for schedule(dynamic)
  for (int f = 0; f < count; ++f) {
    if (steps[f / per_scene] <= 0.0f) continue;
    for (int i = 0; i < blocks; ++i)
      CompressBlock(colour, basis, steps[f / per_scene], f, i, height, width);
  }
  return 0;
#endif
}

// [count, 3, zoom * height, zoom * width] to [count, 3, height, width]; blurs [B]: kernel widths, 1
// = none.
extern "C" int ResizeFrames(const uint8_t* in, uint8_t* out, const float* blurs, int count,
                            int per_scene, int height, int width, int zoom, void* stream) {
#ifdef __CUDACC__
  FOR_EACH(ResizeKernel, height * width, count, stream, in, out, blurs, per_scene, height, width,
           zoom);
#else
  static_cast<void>(stream);
#pragma omp parallel for schedule(dynamic)
  for (int f = 0; f < count; ++f) {
    for (int pixel = 0; pixel < height * width; ++pixel) {
      ResizePixel(in, out, f, pixel, height, width, zoom, blurs[f / per_scene]);
    }
  }
  return 0;
#endif
}

// The layout that rooms.py must agree with.
extern "C" void RendererLayout(int* layout) {
  const int values[] = {kCells,     kCellFloats,     kObjects,     kObjectFloats,
                        kMaterials, kMaterialFloats, kSceneFloats, kCameraFloats};
  for (int i = 0; i < 8; ++i) layout[i] = values[i];
}
