/** A line of the log in the page's address, as `#L12`: the link to it can be sent to somebody. */
import { useEffect, useState } from 'react'

/** Somebody wants to see a line; another object each time, as one may want to see the same one again. */
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

/** Replaces the address: going back leads to the page before, not to the line before. */
export function writeLine(number: number) {
  history.replaceState(history.state, '', `#L${number}`)
}
