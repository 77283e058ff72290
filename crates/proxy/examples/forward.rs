//! Only forwards connections: `forward FROM TO`. `benches/proxy.py` compares the proxy with it.

use std::io;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: forward FROM TO"));
    };
    let listener = std::net::TcpListener::bind(from)?;
    listener.set_nonblocking(true)?;
    // As many event loops as the proxy has.
    let threads = std::thread::available_parallelism()?.get().min(4);
    let loops: Vec<_> = (0..threads)
        .map(|_| {
            let (listener, to) = (listener.try_clone(), to.clone());
            std::thread::spawn(move || serve(listener?, &to))
        })
        .collect();
    for each in loops {
        each.join().map_err(|_| io::Error::other("a thread failed"))??;
    }
    Ok(())
}

fn serve(listener: std::net::TcpListener, to: &str) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (mut client, _) = listener.accept().await?;
            let to = to.to_owned();
            tokio::task::spawn_local(async move {
                client.set_nodelay(true)?;
                let mut server = TcpStream::connect(to).await?;
                server.set_nodelay(true)?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    })
}
