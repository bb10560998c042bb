/** Bodies of responses, read piece by piece and never further than is expected: whatever a server sends, memory is bounded. */

/** The pieces of a body. A reader that leaves early ends the response. */
export async function* piecesOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader()
  if (!reader) return
  let isOver = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      isOver = done
      if (done) return
      yield value
    }
  } finally {
    // A body that has failed cannot be cancelled any more, and its failure is on its way to the caller.
    if (!isOver) await reader.cancel().catch(() => undefined)
  }
}

/** Throws for a body of more than `max` bytes. */
export async function textOf(response: Response, max: number): Promise<string> {
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const piece of piecesOf(response)) {
    bytes += piece.length
    if (bytes > max) throw new Error(`its answer has more than ${max} bytes`)
    text += decoder.decode(piece, { stream: true })
  }
  return text + decoder.decode()
}

/** Waits; an aborted signal ends it with the reason of the abort. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
