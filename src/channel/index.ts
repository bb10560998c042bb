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
export { type ClusterPort, openClusterPort } from './cluster-port.ts'
export { connectPeer, followPeer, type PeerAddress } from './follow.ts'
export { CLUSTER_KEY_PLACE, type Identity, joinToken, readJoinToken, TokenRefused } from './join-token.ts'
export { listenToPeers } from './listen.ts'
export { type Greeting, IncompatiblePeer, type Peer, PROTOCOL } from './peer.ts'
export type { SecureAddress, SecureListen } from './secure.ts'
export { openUnixSocket } from './unix-socket.ts'
