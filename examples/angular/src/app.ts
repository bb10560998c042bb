import { type ApplicationConfig, Component } from '@angular/core'
import { provideClientHydration } from '@angular/platform-browser'
import { provideRouter, RouterLink, RouterOutlet } from '@angular/router'

@Component({
  imports: [RouterLink],
  template: `
    <h1>Hello from Angular</h1>
    <a routerLink="/about">About</a>
  `,
})
class Home {}

@Component({ template: '<h1>Rendered by the build</h1>' })
class About {}

@Component({ template: '<h1>No such page here</h1>' })
class NotFound {}

@Component({ selector: 'app-root', imports: [RouterOutlet], template: '<router-outlet />' })
export class App {}

export const config: ApplicationConfig = {
  providers: [
    provideClientHydration(),
    provideRouter([
      { path: '', component: Home },
      { path: 'about', component: About },
      { path: '**', component: NotFound },
    ]),
  ],
}
