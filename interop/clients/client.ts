/** What a client made of a call's answer. */
export interface Outcome {
  readonly isError: boolean
  readonly text: string
  /** Where the client passes it on. */
  readonly structured?: unknown
}

/** What a client may be told, or asked, while it is connected. */
export interface Listeners {
  onToolsChanged(): void
  onProgress(progress: { progress: number; total?: number | undefined }): void
  /** The answer to a question; the person behind the client says yes and this. */
  onQuestion(message: string): Record<string, string>
}

export interface ConnectOptions extends Listeners {
  readonly mcpUrl: string
  readonly token: string
}

/** A client at work. */
export interface Connection {
  toolNames(): Promise<string[]>
  call(tool: string, input: Record<string, unknown>, signal?: AbortSignal): Promise<Outcome>
  close(): Promise<void>
}

/** What not every client can do. */
export type Skill = 'structured' | 'failures' | 'changes' | 'progress' | 'cancels' | 'answers'

/** A client that somebody else wrote, behind the one face that the promises are made to. */
export interface InteropClient {
  readonly name: string
  readonly skills: readonly Skill[]
  connect(options: ConnectOptions): Promise<Connection>
}

/** The texts among blocks of content. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return JSON.stringify(content)
  return content.map(block => (typeof block?.text === 'string' ? block.text : JSON.stringify(block))).join('\n')
}
