#include "lingbot/session.h"
