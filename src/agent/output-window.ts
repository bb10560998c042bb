/**
 * Sends the output of a program without waiting for each piece: while one stream waited, the other would go ahead, and an error
 * would stand before what the program had printed earlier. Only a program that writes faster than it is read waits.
 */

/** Of what was sent, and not taken yet. */
const WINDOW_BYTES = 256 * 1024

export function createOutputWindow<Sent extends { chunk: string }>(send: (sent: Sent) => Promise<unknown>) {
  let bytes = 0
  return (sent: Sent): Promise<void> | undefined => {
    const { length } = sent.chunk
    bytes += length
    const free = () => {
      bytes -= length
    }
    // Where the connection is lost, there is no reader any more.
    const taken = send(sent).then(free, free)
    return bytes > WINDOW_BYTES ? taken : undefined
  }
}
