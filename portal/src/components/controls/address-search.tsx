/** A search whose text is a parameter of the address, a moment after the last key was pressed. */
import { useEffect, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import { SearchField } from './search-field.tsx'

const TYPED_MS = 300

type Props = { label: string; parameter: string; maxLength: number }

export function AddressSearch({ label, parameter, maxLength }: Props) {
  const [search, setSearch] = useSearchParams()
  const given = search.get(parameter) ?? ''
  const [typed, setTyped] = useState(given)
  const sent = useRef(given)
  // A link on the page may have changed it; what was typed since then is newer than what was sent.
  useEffect(() => {
    if (given !== sent.current) setTyped(given)
    sent.current = given
  }, [given])
  useEffect(() => {
    if (typed.slice(0, maxLength) === sent.current) return
    const timer = setTimeout(() => {
      sent.current = typed.slice(0, maxLength)
      setSearch(
        (before) => {
          const next = new URLSearchParams(before)
          if (typed) next.set(parameter, typed.slice(0, maxLength))
          else next.delete(parameter)
          return next
        },
        { replace: true },
      )
    }, TYPED_MS)
    return () => clearTimeout(timer)
  }, [typed, parameter, maxLength, setSearch])
  return <SearchField label={label} value={typed} onChange={setTyped} />
}
