package luabind

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"npulua/npu"
)

// TestHTTPConnectionsEnd asks from a script and its worker, and sees every connection closed with the session.
func TestHTTPConnectionsEnd(t *testing.T) {
	opened, closed := make(chan net.Conn, 100), make(chan net.Conn, 100)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") }))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened <- c
		case http.StateClosed:
			closed <- c
		}
	}
	s.Start()
	defer s.Close()
	in, err := Open(context.Background(), Options{Session: npu.Options{Backend: "sim", Wall: true}, Args: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	err = in.RunString(`
		local function ask(url)
			local r = require("http").get(url)
			assert(r.ok and r.body == "here")
		end
		local w = npu.worker(ask, arg[1])
		local tasks = {}
		for i = 1, 5 do tasks[i] = npu.spawn(ask, arg[1]) end
		for _, t in ipairs(tasks) do t:join() end
		ask(arg[1])
		w:join()`, "=script")
	if err != nil {
		t.Fatal(in.FormatError(err))
	}
	if err := in.Close(false); err != nil {
		t.Error(err)
	}
	count := len(opened)
	if count == 0 {
		t.Error("no connection was made")
	}
	for range count {
		<-closed // a connection that is left makes the test hang
	}
}
