/** Lines of the service in the log of an app, which are the same wherever it runs. */
export const APP_LINES = {
  idle: 'No visitors for a while: the app sleeps until the next one.',
  displaced: 'Another app of the account took its place: it sleeps until the next visitor.',
  thawed: 'A visitor has come: the app goes on where it was.',
  released: 'The app gives back the memory that it kept in its sleep: the next visitor starts it anew.',
  noMemory: 'There is no memory for a further instance.',
  loop: 'Requests to this app wait for each other: to answer one, it fetches its own address, or that of a site which fetches this one, again and again. The edge has refused the last of them with 508 Loop Detected.',
} as const
