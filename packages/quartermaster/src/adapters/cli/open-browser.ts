import { spawn } from 'node:child_process'

export interface BrowserSurroundings {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Shows an address in the person's browser. Answers whether a program took it; whether it is seen nobody knows. */
export function openBrowser(url: string, surroundings: BrowserSurroundings): Promise<boolean> {
  const command = browserCommand(url, surroundings)
  if (!command) return Promise.resolve(false)
  const [program, ...args] = command
  return new Promise(resolve => {
    // The address is an argument and never seen by a shell.
    const child = spawn(program, args, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

/** The program that opens addresses, where there is a screen to open them on. Nothing but web addresses is opened. */
export function browserCommand(url: string, { platform, env }: BrowserSurroundings): [string, ...string[]] | undefined {
  if (!/^https?:\/\//.test(url)) return undefined
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open', url] : undefined
}
