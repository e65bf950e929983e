// The reference: golang.org/x/time/rate, alone and behind a map with a mutex.
//
// Run by bench/library/run with the packages golang-go and golang-golang-x-time-dev.

package reference

import (
	"math/rand"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

func BenchmarkAllow(b *testing.B) {
	limiter := rate.NewLimiter(1e9, 1e9)
	for i := 0; i < b.N; i++ {
		limiter.Allow()
	}
}

func BenchmarkAllowTwoThreads(b *testing.B) {
	limiter := rate.NewLimiter(1e9, 1e9)
	b.SetParallelism(1)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			limiter.Allow()
		}
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

func keys() []string {
	keys := make([]string, keyCount)
	for i := range keys {
		keys[i] = "user:" + strconv.Itoa(100000000+i) + "-suffix"[:6]
	}
	return keys
}

var once sync.Once
var allKeys []string
var uniform, zipf []uint32
var table = &keyed{limiters: make(map[string]*rate.Limiter)}

func prepare() {
	once.Do(func() {
		allKeys = keys()
		random := rand.New(rand.NewSource(1))
		skewed := rand.NewZipf(random, 1.01, 1, keyCount-1)
		for i := 0; i < 1<<20; i++ {
			uniform = append(uniform, uint32(random.Intn(keyCount)))
			zipf = append(zipf, uint32(skewed.Uint64()))
		}
		for _, key := range allKeys {
			table.allow(key)
		}
	})
}

func each(b *testing.B, picks *[]uint32) {
	prepare()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		table.allow(allKeys[(*picks)[i&(1<<20-1)]])
	}
}

func parallel(b *testing.B, picks *[]uint32) {
	prepare()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i := int(time.Now().UnixNano())
		for pb.Next() {
			i++
			table.allow(allKeys[(*picks)[i&(1<<20-1)]])
		}
	})
}

func BenchmarkKeyedUniform(b *testing.B)           { each(b, &uniform) }
func BenchmarkKeyedZipf(b *testing.B)              { each(b, &zipf) }
func BenchmarkKeyedUniformTwoThreads(b *testing.B) { parallel(b, &uniform) }
func BenchmarkKeyedZipfTwoThreads(b *testing.B)    { parallel(b, &zipf) }
