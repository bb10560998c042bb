/**
 * What tools are told in every step of a build, so that they neither ask nor fetch what no build needs. A value of the tenant
 * goes before each of them: sites made with Create React App, for one, set `CI=false` so that warnings are no errors.
 */
export const SWITCHES: Readonly<Record<string, string>> = {
  CI: '1',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
  HUSKY: '0',
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  PUPPETEER_SKIP_DOWNLOAD: '1',
  // As its first versions called it.
  PUPPETEER_SKIP_CHROMIUM_DOWNLOAD: '1',
  CYPRESS_INSTALL_BINARY: '0',
}
