export default defineNuxtConfig({
  compatibilityDate: '2026-09-01',
  telemetry: false,
  nitro: {
    preset: 'vercel',
    vercel: { functions: { maxDuration: 30 } },
  },
  routeRules: { '/about': { isr: 60 } },
})
