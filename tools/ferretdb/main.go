// Command ferretdb is FerretDB with its SQLite backend, embedded: a MongoDB-compatible server for tests and measurements
// that needs no other server. It takes those of FerretDB's own options that dbdyno gives, so that either program will do.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/FerretDB/FerretDB/build/version"
	"github.com/FerretDB/FerretDB/ferretdb"
)

const module = "github.com/FerretDB/FerretDB"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ferretdb:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("ferretdb", flag.ExitOnError)
	showVersion := flags.Bool("version", false, "print the version and exit")
	handler := flags.String("handler", "sqlite", "the backend, which is SQLite")
	tcp := flags.String("listen-addr", "", "host and port to listen on, such as 127.0.0.1:27017")
	unix := flags.String("listen-unix", "", "path of the Unix socket to listen on")
	url := flags.String("sqlite-url", "", "directory of the databases, as in file:data/; SQLite's pragmas may follow")
	level := flags.String("log-level", "warn", "the least severe messages to log: debug, info, warn, error")
	// Nothing of these is in this program; only the values that switch them off can be asked for.
	off := map[string]*string{
		"state-dir":  flags.String("state-dir", "-", "no state is kept: -"),
		"debug-addr": flags.String("debug-addr", "-", "there is no listener for debugging: -"),
		"telemetry":  flags.String("telemetry", "disable", "there is no telemetry: disable"),
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	for name, value := range off {
		if wanted := flags.Lookup(name).DefValue; *value != wanted {
			return fmt.Errorf("--%s=%s: this program takes only `%s`", name, *value, wanted)
		}
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: there are no arguments, only options", flags.Arg(0))
	}
	if *handler != "sqlite" {
		return fmt.Errorf("--handler=%s: this program has no backend but `sqlite`", *handler)
	}
	// An embedded FerretDB does not know which one it is.
	version.Get().Version = builtFrom()
	if *showVersion {
		fmt.Println("version:", version.Get().Version)
		return nil
	}
	return serve(*tcp, *unix, *url, *level)
}

func serve(tcp, unix, url, level string) error {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: least}))
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: tcp, Unix: unix},
		Logger:    logger,
		Handler:   "sqlite",
		SQLiteURL: url,
	})
	if err != nil {
		return err
	}
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return server.Run(stopped)
}

// builtFrom is the version of the module that this program is built from.
func builtFrom() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, each := range info.Deps {
		if each.Path == module {
			return each.Version
		}
	}
	return "unknown"
}
