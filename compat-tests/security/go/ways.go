// Package ways is what the programs written in Go share: what security/ways.py asks for, and how they tell what became of it.
package ways

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

const Timeout = 30 * time.Second

// What became of a way that led to no values.
const (
	Refused = "refused"
	Denied  = "denied"
	Other   = "error"
)

// Way is one of those asked for.
type Way struct {
	Name, Bootstrap, Protocol, Topic     string
	Values                               []string
	CA, Certificate, Key                 string
	Mechanism, Username, Password, Token string
}

// TLS is nil where the way has none.
func (w Way) TLS() (*tls.Config, error) {
	if !strings.HasSuffix(w.Protocol, "SSL") {
		return nil, nil
	}
	authority, err := os.ReadFile(w.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if w.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(w.Certificate, w.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Unanswered wraps whatever ended a way before the first request was answered.
type Unanswered struct{ Err error }

func (u Unanswered) Error() string { return u.Err.Error() }

// Meaning is for clients that have an error for what is denied, but none for what is refused: that is then Unanswered.
func Meaning(denied error) func(error) string {
	return func(err error) string {
		if errors.As(err, &Unanswered{}) {
			return Refused
		}
		if errors.Is(err, denied) {
			return Denied
		}
		return Other
	}
}

// Run goes all ways at the same time. `values` returns what was read back, `meaning` says what an error of it is.
func Run(values func(Way) ([]string, error), meaning func(error) string) {
	content, err := os.ReadFile(os.Args[1])
	var all []Way
	if err == nil {
		err = json.Unmarshal(content, &all)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var running sync.WaitGroup
	var lock sync.Mutex
	for _, way := range all {
		running.Go(func() {
			told := map[string]any{"way": way.Name, "outcome": "values"}
			read, err := values(way)
			told["detail"] = read
			if err != nil {
				told["outcome"], told["detail"] = meaning(err), err.Error()
			}
			lock.Lock()
			defer lock.Unlock()
			_ = json.NewEncoder(os.Stdout).Encode(told)
		})
	}
	running.Wait()
}
