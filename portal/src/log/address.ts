/** A line of the log in the page's address, as `#L12`, so that a link to it can be shared. */
import { useEffect, useState } from 'react'

/** A request to show a line. It is a new object each time, so that the same line can be requested again. */
export type Target = { number: number }

export function lineOfHash(hash: string): number | undefined {
  const [, digits] = /^#L(\d{1,9})$/.exec(hash) ?? []
  return digits === undefined ? undefined : Number(digits)
}

export function useLineInAddress(): Target | undefined {
  const [target, setTarget] = useState(readTarget)
  useEffect(() => {
    const onChange = () => setTarget(readTarget())
    window.addEventListener('hashchange', onChange)
    return () => window.removeEventListener('hashchange', onChange)
  }, [])
  return target
}

function readTarget(): Target | undefined {
  const number = lineOfHash(location.hash)
  return number === undefined ? undefined : { number }
}

/** Replaces the history entry, so that the back button leads to the previous page and not to the previous line. */
export function writeLine(number: number) {
  history.replaceState(history.state, '', `#L${number}`)
}
