/** The last used account, for the next visit. Without storage in the browser, it is the first. */
const KEY = 'headland.account'

export function lastAccount(accounts: readonly string[]): string | undefined {
  const kept = read()
  return kept !== null && accounts.includes(kept) ? kept : accounts[0]
}

export function rememberAccount(account: string) {
  try {
    localStorage.setItem(KEY, account)
  } catch {
    // Storage may be forbidden or full: the next visit begins with the first account.
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
