/** A client whose errors become other ones: those of the command line, or with a hint in them. */
import type { Client } from '../../client/index.ts'

type Map = (error: unknown) => unknown

export function withErrors(client: Client, map: Map): Client {
  return {
    url: client.url,
    call: once(client.call, map),
    ask: once(client.ask, map),
    list: each(client.list, map),
    first: once(client.first, map),
    waitForOperation: once(client.waitForOperation, map),
    readLog: each(client.readLog, map),
    lastLine: once(client.lastLine, map),
    follow: each(client.follow, map),
    upload: once(client.upload, map),
    plan: once(client.plan, map),
  }
}

type Work = (...given: never[]) => unknown

/** The same function by its type, which says nothing of errors. */
function once<F extends Work>(work: F, map: Map): F {
  const mapped = async (...given: Parameters<F>) => {
    try {
      return await work(...given)
    } catch (error) {
      throw await map(error)
    }
  }
  return mapped as unknown as F
}

function each<F extends Work>(work: F, map: Map): F {
  async function* mapped(...given: Parameters<F>) {
    try {
      yield* work(...given) as AsyncIterable<unknown>
    } catch (error) {
      throw await map(error)
    }
  }
  return mapped as unknown as F
}
