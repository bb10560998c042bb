/** The search of the site: the texts of all pages, looked through in the browser. */
import { type Part, type PartText, search, searchable } from '../../src/api/docs/manual/match.ts'

/** Loads what is searched, and returns what opens the box. */
export async function prepare(dialog: HTMLDialogElement, top: string): Promise<() => void> {
  const input = dialog.querySelector('input')
  const list = dialog.querySelector('ol')
  const status = dialog.querySelector('p')
  if (!input || !list || !status) throw new Error('The search has no box.')
  const answer = await fetch(new URL(`${top}assets/search.json`, location.href))
  if (!answer.ok) throw new Error(`The texts of the search could not be loaded: ${answer.status}`)
  const parts: Part[] = ((await answer.json()) as PartText[]).map(searchable)

  const show = () => {
    const hits = search(parts, input.value)
    list.replaceChildren(...hits.map((hit) => entry(hit, top)))
    status.textContent = saying(input.value, hits.length)
  }
  input.addEventListener('input', show)
  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') move(event)
  })
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    list.querySelector('a')?.click()
  })
  list.addEventListener('click', () => dialog.close())

  /** Between the input and the results, by the arrow keys. */
  function move(event: KeyboardEvent) {
    const places = [input, ...(list?.querySelectorAll('a') ?? [])]
    const at = places.indexOf(document.activeElement as HTMLAnchorElement)
    event.preventDefault()
    places[at + (event.key === 'ArrowDown' ? 1 : -1)]?.focus()
  }

  return () => {
    dialog.showModal()
    input.select()
    show()
  }
}

function entry({ address, page, heading, excerpt }: ReturnType<typeof search>[number], top: string): HTMLLIElement {
  const [item, link, of, text] = [
    document.createElement('li'),
    document.createElement('a'),
    document.createElement('span'),
    document.createElement('p'),
  ] as const
  link.href = `${top}${address}`
  link.textContent = heading
  of.className = 'of'
  of.textContent = heading === page ? '' : page
  text.textContent = excerpt
  item.append(link, of, text)
  return item
}

function saying(query: string, count: number): string {
  if (query.trim() === '') return 'Enter one or more words.'
  if (count === 0) return 'Nothing has all of these words.'
  return count === 1 ? 'One part of a page' : `${count} parts of pages, the best first`
}
