import { mergeApplicationConfig } from '@angular/core'
import { type BootstrapContext, bootstrapApplication } from '@angular/platform-browser'
import { provideServerRendering, RenderMode, withRoutes } from '@angular/ssr'
import { App, config } from './app'

const server = {
  providers: [
    provideServerRendering(
      withRoutes([
        { path: '', renderMode: RenderMode.Server },
        { path: 'about', renderMode: RenderMode.Prerender },
        { path: '**', renderMode: RenderMode.Server, status: 404 },
      ]),
    ),
  ],
}

export default (context: BootstrapContext) => bootstrapApplication(App, mergeApplicationConfig(config, server), context)
