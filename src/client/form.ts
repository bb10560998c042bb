/** The form of an upload. A file of a known size goes out with its length; a stream goes out as it comes. */

export type Zip = Blob | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>

type Form = { body: FormData | ReadableStream<Uint8Array>; headers: Record<string, string>; duplex?: 'half' }

export function formOf(zip: Zip): Form {
  if (zip instanceof Blob) {
    const form = new FormData()
    form.append('repository', zip, 'app.zip')
    return { body: form, headers: {} }
  }
  const boundary = `headland-${crypto.randomUUID()}`
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="repository"; filename="app.zip"\r\nContent-Type: application/zip\r\n\r\n`
  const pieces = inForm(zip instanceof ReadableStream ? readerOf(zip) : zip, head, `\r\n--${boundary}--\r\n`)
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return(undefined)
    },
  })
  return { body, headers: { 'content-type': `multipart/form-data; boundary=${boundary}` }, duplex: 'half' }
}

async function* inForm(zip: AsyncIterable<Uint8Array>, head: string, tail: string): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  yield encoder.encode(head)
  yield* zip
  yield encoder.encode(tail)
}

/** Not every browser iterates a stream. */
async function* readerOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  let isOver = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      isOver = done
      if (done) return
      yield value
    }
  } finally {
    if (!isOver) await reader.cancel()
  }
}
