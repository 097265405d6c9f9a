import { Option } from 'commander'
import type { Control, ControlInput, ControlOutput, JsonSchema } from '../../../contracts/index.ts'
import { buildObject, toPair } from '../arguments.ts'
import { checkSummary, checkText } from '../check-text.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT } from '../errors.ts'
import { paragraph } from '../layout.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'

interface GrantOptions {
  tools?: string[]
  set?: string[]
  consent?: string[]
  revoke?: boolean
  create?: boolean
}

export const registerGrant: Register = (program, act) => {
  const command = program
    .command('grant')
    .description("Give an agent a capability, or take it away. It is written to the agent's file.")
    .addArgument(new CompletingArgument('<AGENT>', 'the agent', 'agent'))
    .addArgument(new CompletingArgument('<CAPABILITY>', 'what it gets', 'capability'))
    .addOption(
      new Option(
        '--tools <NAMES>',
        'only these tools, joined by commas; "" is none (default: as before, at first all)',
      ).argParser(toNames),
    )
    .option('--set <KEY=JSON...>', "keys of the capability's configuration; the others stay as they are")
    .option(
      '--consent <OPERATION...>',
      'allow these consent operations for good, without being asked; with --revoke no longer',
    )
    .addOption(new Option('--revoke', 'take the capability away').conflicts(['tools', 'set', 'create']))
    .option('--create', 'make the agent when there is none of this name')
    .action((agent: string, capability: string, options: GrantOptions) =>
      act(session => grant(session, agent, capability, options)),
    )
  addExamples(command, [
    ['quartermaster grant researcher files --create', 'make an agent that may use all tools of files'],
    [
      'quartermaster grant researcher files --tools read_file,list_files --set dirs=\'["./reports"]\'',
      'only reading, only there',
    ],
    ['quartermaster grant researcher files --consent files.write', 'let it write without asking'],
    ['quartermaster grant researcher files --revoke --consent files.write', 'take both away again'],
  ])
}

function toNames(text: string): string[] {
  return text
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')
}

async function grant(session: Session, agent: string, capability: string, options: GrantOptions): Promise<number> {
  session.hints = { agent, capability }
  const { set, ...rest } = options
  const pairs = set?.map(toPair)
  const answer = await session.connect(async control => {
    const config = pairs && buildObject(pairs, await configSchema(control, capability))
    const input: ControlInput<'grant'> = { agent, capability, ...defined({ ...rest, config }) }
    return await session.attend('Granting', on => control.grant(input, on))
  })
  await (session.json
    ? session.printJson(answer)
    : session.out.write(grantText(answer, { agent, capability, revoke: options.revoke === true }, session)))
  return answer.check.ok ? EXIT.done : EXIT.no
}

async function configSchema(control: Control, key: string): Promise<JsonSchema> {
  const all = await control.capabilities({})
  return all.find(capability => capability.key === key)?.configSchema ?? {}
}

function grantText(
  { file, check }: ControlOutput<'grant'>,
  { agent, capability, revoke }: { agent: string; capability: string; revoke: boolean },
  { out }: Session,
): string {
  const head = revoke ? `"${agent}" no longer has "${capability}"` : `"${agent}" has "${capability}"`
  const mark = check.ok ? out.paint.green('✓') : out.paint.yellow('!')
  return `${mark} ${paragraph(`${head}: ${checkSummary(check)} (${file})`, { ...out, width: undefined })}${checkText(check, out)}`
}
