/** How an operator's command reaches the service that runs on a data folder. */
import { type Log, processName } from '../base/index.ts'
import { type CallPeer, connectPeer, createCaller, type Frame, listenToPeers, PROTOCOL } from '../channel/index.ts'
import { version } from '../version.ts'

/** What the process of `headland serve` does for operators. */
type ServeMethods = {
  /** `program` is the one whose version takes over. */
  reload(argument: { program: string }): Promise<void>
}

const greetingOf = (role: string) => ({ protocol: PROTOCOL, role, process: processName(), version })

type Parts = { path: string; log: Log; reload(program: string): Promise<void> }

export async function listenToOperators({ path, log, reload }: Parts) {
  const methods: ServeMethods = { reload: ({ program }) => reload(program) }
  return listenToPeers<Frame, Frame>({
    address: path,
    greeting: greetingOf('serve'),
    onPeer: (peer: CallPeer) => createCaller(peer, methods),
    onRefused: (error) => log.warn({ err: error }, "an operator's command could not connect"),
  })
}

/** Rejects if no service runs, or with why the new version did not come up. */
export async function askToReload(path: string, program: string): Promise<void> {
  const peer = await connectPeer<Frame, Frame>(path, greetingOf('operator')).catch((error) => {
    throw new Error('no service runs on this data folder', { cause: error })
  })
  const service = createCaller<ServeMethods>(peer)
  try {
    await service.call('reload', { program })
  } finally {
    service.close()
  }
}
