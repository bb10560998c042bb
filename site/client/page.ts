/** What a page can do besides being read: copy code, change the version, say where the reader is, open the search. */

const top = document.documentElement.dataset.top ?? './'

copyButtons()
currentHeading()
showCurrentPage()
await Promise.all([searchOnDemand(), newestVersions()])

function copyButtons() {
  for (const block of document.querySelectorAll('main pre')) {
    const holder = document.createElement('div')
    holder.className = 'code'
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(commandsIn(block))
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 2000)
    })
    block.replaceWith(holder)
    holder.append(block, button)
  }
}

/** Of a session in a terminal only what was typed, without the prompts. */
function commandsIn(block: Element): string {
  const text = block.textContent ?? ''
  if (!block.querySelector('.prompt')) return text
  return text
    .split('\n')
    .filter((line) => /^[$#] /.test(line))
    .map((line) => line.slice(2))
    .join('\n')
}

/** Marks the part that is read in the list at the side. */
function currentHeading() {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.toc a')]
  const targets = links.flatMap((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))) ?? [])
  if (targets.length === 0) return
  const mark = () => {
    const passed = targets.filter((target) => target.getBoundingClientRect().top < 120)
    const current = passed.at(-1) ?? targets[0]
    for (const link of links) link.classList.toggle('current', link.hash === `#${current?.id}`)
  }
  document.addEventListener('scroll', mark, { passive: true })
  mark()
}

/** The list of pages is longer than a screen: the page that is open is in view. */
function showCurrentPage() {
  const list = document.querySelector<HTMLElement>('.pages')
  const current = list?.querySelector<HTMLElement>('[aria-current]')
  if (list && current) list.scrollTop = current.offsetTop - list.clientHeight / 2
}

/** The search and its texts are loaded when they are wanted. */
async function searchOnDemand() {
  const button = document.querySelector<HTMLButtonElement>('[data-search]')
  const dialog = document.querySelector<HTMLDialogElement>('[data-dialog]')
  if (!button || !dialog) return
  let opening: Promise<() => void> | undefined
  const open = async () => {
    opening ??= import('./search.ts').then(({ prepare }) => prepare(dialog, top))
    ;(await opening)()
  }
  button.hidden = false
  button.addEventListener('click', open)
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.closest('input, textarea, dialog')
    const isSlash = event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey
    const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
    if (isTyping || !(isSlash || isK)) return
    event.preventDefault()
    void open()
  })
}

/** Pages of an older version are in `versions/{name}/`, and learn from the top of the site which there are by now. */
async function newestVersions() {
  const menu = document.querySelector('[data-versions]')
  const list = menu?.querySelector('ul')
  if (!menu || !list) return
  const here = new URL(top, location.href)
  const site = new URL(here.href.replace(/versions\/[^/]+\/$/, ''))
  if (site.href === here.href) return
  const answer = await fetch(new URL('versions.json', site))
  if (!answer.ok) return
  const versions: { name: string; path: string }[] = await answer.json()
  list.replaceChildren(
    ...versions.map(({ name, path }) => {
      const [item, link] = [document.createElement('li'), document.createElement('a')]
      link.href = new URL(path, site).href
      link.textContent = name
      item.append(link)
      return item
    }),
  )
}
