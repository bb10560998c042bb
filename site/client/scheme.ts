/** Light or dark, before anything is drawn: as the reader chose here, else as the system has it. */
{
  const KEY = 'headland-docs-scheme'
  const chosen = localStorage.getItem(KEY)
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.scheme = chosen
  document.addEventListener('DOMContentLoaded', () => {
    const button = document.querySelector<HTMLButtonElement>('button[data-scheme]')
    const system = matchMedia('(prefers-color-scheme: dark)')
    const root = document.documentElement
    if (!button) return
    const isDark = () => (root.dataset.scheme ?? (system.matches ? 'dark' : 'light')) === 'dark'
    const show = () => button.setAttribute('aria-pressed', String(isDark()))
    button.hidden = false
    show()
    system.addEventListener('change', show)
    button.addEventListener('click', () => {
      const wanted = isDark() ? 'light' : 'dark'
      // What the system has is followed again, also when that changes.
      if ((wanted === 'dark') === system.matches) {
        delete root.dataset.scheme
        localStorage.removeItem(KEY)
      } else {
        root.dataset.scheme = wanted
        localStorage.setItem(KEY, wanted)
      }
      show()
    })
  })
}
