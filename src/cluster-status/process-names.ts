/** Names of processes (`processName`), as operators read them. */

/** The name of its machine or, where it has none, the first digits of that machine's last start; and the process id. */
export function shownProcess(name: string): string {
  const [, node, boot, pid] = /^(?:([^:]+): )?([0-9a-f]{8})?\S* (\d+) /.exec(`${name} `) ?? []
  return pid === undefined ? name : `${node ?? boot ?? '-'} ${pid}`
}

/** Parts of a process have names that differ in their last word. */
export const isSameProcess = (one: string, other: string): boolean =>
  one === other || withoutToken(one) === withoutToken(other)

const withoutToken = (name: string): string => name.split(' ').slice(0, -1).join(' ')

/** The process id, which is in the name of a leader, too. */
export const pidOf = (name: string): string | undefined => /^(?:[^:]+: )?\S+ (\d+) /.exec(`${name} `)?.[1]

/** With the host of a process where that is on record. */
export function createLabels(known: readonly { process: string; host: string }[]): (process: string) => string {
  const labels = new Map(
    known.flatMap(({ process, host }) => (host ? [[withoutToken(process), `${host} ${pidOf(process)}`]] : [])),
  )
  return (process) => labels.get(withoutToken(process)) ?? shownProcess(process)
}
