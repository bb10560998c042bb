/**
 * Which ports Docker gives to instances on this node. An edge may use the address of an instance that is gone, until it is told so:
 * for milliseconds, or for minutes where it is cut off. Another app must not be there by then.
 *
 * Docker counts ports up while it runs, so none comes again soon. When it was started, it counts from the beginning of the kernel's
 * range for ports that nothing has chosen, which it reads with the first port that it gives. So that range is another one at each
 * start: of a few ranges, the one that was not used for the longest time. Containers have networks of their own, with a range of
 * their own, so apps notice nothing.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import type { Log } from '../../base/index.ts'

type Parts = {
  file: string
  log: Log
  /** Of the kernel, for the network of this process. */
  kernelFile?: string
}

const KERNEL_FILE = '/proc/sys/net/ipv4/ip_local_port_range'

/** Below the first is where a Docker begins that was started without them. */
export const PORT_RANGES: readonly { first: number; last: number }[] = [
  { first: 37_000, last: 42_999 },
  { first: 43_000, last: 48_999 },
  { first: 49_000, last: 54_999 },
  { first: 55_000, last: 60_999 },
]

/** Resolves when the next start of Docker uses a range that the last ones did not. */
export async function openPortRanges({ file, log, kernelFile = KERNEL_FILE }: Parts) {
  /** Indexes of ranges, the least recently used first. */
  let order = await readOrder(file)
  let complained = ''

  async function setNext(isInUse: (index: number) => boolean) {
    const next = PORT_RANGES[order.find((index) => !isInUse(index)) ?? 0]
    try {
      const [first, last] = (await readFile(kernelFile, 'utf8')).trim().split(/\s+/)
      if (!next || (first === String(next.first) && last === String(next.last))) return
      await writeFile(kernelFile, `${next.first} ${next.last}\n`)
    } catch (error) {
      const { message } = error as Error
      if (message !== complained)
        log.error({ err: error }, 'after its next start, Docker may give ports of apps to others too soon')
      complained = message
    }
  }

  await setNext(() => false)

  return {
    /** The ports that lead to containers now. */
    async used(ports: readonly number[]) {
      const inUse = new Set(
        ports.map((port) => PORT_RANGES.findIndex(({ first, last }) => port >= first && port <= last)),
      )
      inUse.delete(-1)
      const next = [...order.filter((index) => !inUse.has(index)), ...order.filter((index) => inUse.has(index))]
      if (next.join() !== order.join()) {
        order = next
        await save(file, order).catch((error) => log.error({ err: error }, 'the ranges of ports cannot be saved'))
      }
      await setNext((index) => inUse.has(index))
    },
  }
}

async function save(file: string, order: readonly number[]) {
  await writeFile(`${file}.new`, JSON.stringify(order), { mode: 0o600 })
  await rename(`${file}.new`, file)
}

async function readOrder(file: string): Promise<number[]> {
  const known = PORT_RANGES.map((_, index) => index)
  try {
    const saved: unknown = JSON.parse(await readFile(file, 'utf8'))
    const isWhole = Array.isArray(saved) && saved.toSorted().join() === known.join()
    return isWhole ? saved : known
  } catch {
    // There is none, or one that was damaged with its disk.
    return known
  }
}
