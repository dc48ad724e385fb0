#include "layers/block.h"
