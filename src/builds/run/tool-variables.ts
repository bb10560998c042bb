/**
 * Variables for every step of a build, so that tools neither prompt nor download what no build needs. A value of the tenant
 * takes precedence: sites made with Create React App, for example, set `CI=false` so that warnings are not errors.
 */
export const SWITCHES: Readonly<Record<string, string>> = {
  CI: '1',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
  HUSKY: '0',
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
  PUPPETEER_SKIP_DOWNLOAD: '1',
  // The name in its first versions.
  PUPPETEER_SKIP_CHROMIUM_DOWNLOAD: '1',
  CYPRESS_INSTALL_BINARY: '0',
}
