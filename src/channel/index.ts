export {
  type Caller,
  type CallPeer,
  ConnectionLost,
  createCaller,
  type ErrorCodec,
  type Frame,
  type Methods,
  PLAIN_ERRORS,
} from './calls.ts'
export { connectPeer, followPeer } from './follow.ts'
export { listenToPeers } from './listen.ts'
export { type Greeting, IncompatiblePeer, type Peer, PROTOCOL } from './peer.ts'
export { openUnixSocket } from './unix-socket.ts'
