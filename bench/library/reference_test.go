// The reference: golang.org/x/time/rate, alone and behind a map with a mutex.
//
// Run by bench/library/run with the packages golang-go and golang-golang-x-time-dev.

package reference

import (
	"math/rand"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// What this process has used, as our own rows are measured: a busy machine stretches the clock's
// time more.
func processorTime() int64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Utime.Nano() + used.Stime.Nano()
}

func measured(b *testing.B, run func()) {
	begin := processorTime()
	run()
	b.ReportMetric(float64(processorTime()-begin)/float64(b.N), "cpu-ns/op")
}

func BenchmarkAllow(b *testing.B) {
	limiter := rate.NewLimiter(1e9, 1e9)
	measured(b, func() {
		for i := 0; i < b.N; i++ {
			limiter.Allow()
		}
	})
}

func BenchmarkAllowTwoThreads(b *testing.B) {
	limiter := rate.NewLimiter(1e9, 1e9)
	b.SetParallelism(1)
	measured(b, func() {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				limiter.Allow()
			}
		})
	})
}

const keyCount = 1 << 20

type keyed struct {
	mutex    sync.Mutex
	limiters map[string]*rate.Limiter
}

func (k *keyed) allow(key string) bool {
	k.mutex.Lock()
	limiter := k.limiters[key]
	if limiter == nil {
		limiter = rate.NewLimiter(10, 20)
		k.limiters[key] = limiter
	}
	k.mutex.Unlock()
	return limiter.Allow()
}

const picks = 1 << 20

func keyOf(i int) string { return "user:" + strconv.Itoa(100000000+i) + "-suffix"[:6] }

// The keys of all calls, one after the other in memory: a caller has just read the key it asks for.
func calls(pick func() int) []string {
	var text strings.Builder
	for i := 0; i < picks; i++ {
		text.WriteString(keyOf(pick()))
	}
	keys := make([]string, picks)
	for i := range keys {
		keys[i] = text.String()[i*20 : i*20+20]
	}
	return keys
}

var once sync.Once
var uniform, zipf []string
var table = &keyed{limiters: make(map[string]*rate.Limiter)}

func prepare() {
	once.Do(func() {
		random := rand.New(rand.NewSource(1))
		skewed := rand.NewZipf(random, 1.01, 1, keyCount-1)
		uniform = calls(func() int { return random.Intn(keyCount) })
		zipf = calls(func() int { return int(skewed.Uint64()) })
		for i := 0; i < keyCount; i++ {
			table.allow(keyOf(i))
		}
	})
}

func each(b *testing.B, keys *[]string) {
	prepare()
	measured(b, func() {
		for i := 0; i < b.N; i++ {
			table.allow((*keys)[i&(picks-1)])
		}
	})
}

func parallel(b *testing.B, keys *[]string) {
	prepare()
	measured(b, func() {
		b.RunParallel(func(pb *testing.PB) {
			i := int(time.Now().UnixNano())
			for pb.Next() {
				i++
				table.allow((*keys)[i&(picks-1)])
			}
		})
	})
}

func BenchmarkKeyedUniform(b *testing.B)           { each(b, &uniform) }
func BenchmarkKeyedZipf(b *testing.B)              { each(b, &zipf) }
func BenchmarkKeyedUniformTwoThreads(b *testing.B) { parallel(b, &uniform) }
func BenchmarkKeyedZipfTwoThreads(b *testing.B)    { parallel(b, &zipf) }
