/**
 * The answer to a push is made of packets: four hexadecimal digits of length, a digit that says what it is, and bytes. Only whole
 * ones are passed on, so that an error can follow them wherever the answer breaks off.
 */
const LENGTH_DIGITS = 4
/** Output of git, what is shown to the user, and an error that ends it. */
const BANDS = [1, 2, 3]
const ERROR_BAND = 3

export function createPackets() {
  let left: Buffer = Buffer.alloc(0)
  let isPlain = false

  /** How many bytes of `left` are whole packets. */
  function wholeLength(): number {
    let at = 0
    while (left.length - at >= LENGTH_DIGITS) {
      const length = Number.parseInt(left.toString('latin1', at, at + LENGTH_DIGITS), 16)
      // Shorter ones are marks without content. What has no length is not made of packets.
      if (Number.isNaN(length)) isPlain = true
      const end = at + Math.max(length, LENGTH_DIGITS)
      if (isPlain || end > left.length) break
      if (length > LENGTH_DIGITS && !BANDS.includes(left[at + LENGTH_DIGITS] ?? 0)) isPlain = true
      at = end
    }
    return isPlain ? left.length : at
  }

  return {
    take(bytes: Buffer): Buffer {
      left = Buffer.concat([left, bytes])
      const length = wholeLength()
      const whole = left.subarray(0, length)
      left = left.subarray(length)
      return whole
    },
    /** What is left at the end; `null` for nothing. */
    rest: () => (left.length > 0 ? left : null),
    /** Whether an error may follow. */
    mayTell: () => !isPlain,
  }
}

/** Git shows it, and fails. */
export function errorPacket(text: string): Buffer {
  const content = Buffer.concat([Buffer.of(ERROR_BAND), Buffer.from(`${text}\n`)])
  const length = (content.length + LENGTH_DIGITS).toString(16).padStart(LENGTH_DIGITS, '0')
  return Buffer.concat([Buffer.from(length), content])
}
