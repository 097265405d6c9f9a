import type { AgentPrompt, AgentView, PromptOptions, ViewedTool } from '../../contracts/index.ts'
import { line, paragraphs } from '../../core/kernel/index.ts'
import { closingRule } from './closing-rule.ts'
import { estimateTokens } from './estimate-tokens.ts'
import { document } from './markdown.ts'
import { AS_COMMANDS } from './shell-manner.ts'
import { AS_TOOLS, type Manner } from './tool-manner.ts'

/** What an agent has, as a block for its system prompt. */
export function promptFor(
  view: AgentView,
  { shell = false, withoutDisabled = false }: PromptOptions = {},
): AgentPrompt {
  const manner = shell ? AS_COMMANDS : AS_TOOLS
  const tools = view.tools.filter(tool => manner.has(tool, view) && !(withoutDisabled && tool.state === 'disabled'))
  const sections = view.sections
    .map(section => ({ ...section, tools: tools.filter(tool => tool.section === section.key) }))
    .filter(section => section.tools.length > 0)
  const text = document([
    `# ${manner.title}`,
    tools.length === 0 ? `You are "${line(view.agent)}". You have no tools here.` : manner.opening(view),
    capabilitiesOf(view, tools),
    tools.length === 0 ? undefined : manner.rule(view),
    ...sections.flatMap(section => sectionBlocks(section, { view, manner, tools })),
  ])
  const names = sections.flatMap(section => section.tools.map(({ name }) => name))
  const made = { agent: view.agent, text, estimatedTokens: estimateTokens(text), tools: names }
  const { unseen, withheld } = view
  // Beside the text and not in it: a model has no use for what it cannot call, and may try it all the same.
  return { ...made, ...(unseen ? { unseen } : {}), ...(withheld ? { withheld } : {}) }
}

/** The preamble: what the agent can do at all. */
function capabilitiesOf({ capabilities }: AgentView, tools: readonly ViewedTool[]): string {
  const shown = capabilities.filter(({ key }) => tools.some(({ capability }) => capability === key))
  return shown.map(({ title, short }) => `- **${line(title)}**${short === '' ? '' : `: ${line(short)}`}`).join('\n')
}

interface Section {
  readonly title: string
  readonly tools: readonly ViewedTool[]
}

interface Around {
  readonly view: AgentView
  readonly manner: Manner
  /** All that are told of. */
  readonly tools: readonly ViewedTool[]
}

function sectionBlocks({ title, tools }: Section, { view, manner, tools: all }: Around): (string | undefined)[] {
  const explained = tools.filter(tool => manner.explains(tool, view) && tool.whenToUse !== '')
  return [
    `## ${line(title)}`,
    tools.map(tool => `- ${manner.bullet(tool, view)}${mark(tool)}`).join('\n'),
    ...explained.flatMap(tool => [`### ${manner.heading(tool)}`, paragraphs(tool.whenToUse)]),
    closingRule(tools, all),
  ]
}

function mark({ state, reason = '' }: ViewedTool): string {
  return state === 'active' ? '' : ` (Disabled now. ${line(reason)})`
}
