/** `claude_desktop_config.json`, as people have it. */
export const CLAUDE_DESKTOP = `{
  "globalShortcut": "Cmd+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ada/Desktop", "/Users/ada/Downloads"]
    },
    "github": {
      "command": "docker",
      "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz" }
    },
    "brave search": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-brave-search@0.6.2"],
      "env": { "BRAVE_API_KEY": "BSAx", "LOG_LEVEL": "debug" }
    },
    "remote": {
      "command": "npx",
      "args": ["mcp-remote", "https://mcp.example.com/sse", "--header", "Authorization: Bearer abcdef123456"]
    },
    "quartermaster": { "command": "quartermaster", "args": ["connect", "--agent", "default"] }
  }
}`

/** `~/.claude.json`, with everything else that is in it. */
export const CLAUDE_CODE = JSON.stringify({
  numStartups: 42,
  tipsHistory: { 'new-user-warmup': 3 },
  mcpServers: {
    linear: { type: 'sse', url: 'https://mcp.linear.app/sse' },
    notion: { type: 'http', url: 'https://mcp.notion.com/mcp', headers: { 'X-Trace': '${TRACE:-off}' } },
    us: { type: 'http', url: 'http://127.0.0.1:7420/mcp', headers: { Authorization: `Bearer qm_${'a'.repeat(43)}` } },
  },
  projects: {
    '/work/here': {
      allowedTools: [],
      mcpServers: { tests: { type: 'stdio', command: './run-tests', args: [], env: {} } },
    },
    '/work/other': {
      mcpServers: { database: { type: 'stdio', command: 'db-server', args: ['--dsn', 'postgres://me:pw@db/x'] } },
    },
    '/work/none': { history: [] },
  },
})

/** `.cursor/mcp.json`. */
export const CURSOR = `{
  "mcpServers": {
    "local": {
      "command": "\${workspaceFolder}\${/}bin\${pathSeparator}server",
      "args": ["--home", "\${userHome}/x", "--name", "\${workspaceFolderBasename}"],
      "env": { "API_KEY": "\${env:CURSOR_KEY}", "PORT": 8080, "NONE": null },
      "envFile": "\${workspaceFolder}/.env"
    },
    "web": { "url": "https://web.example/mcp?api_key=s3cr3tvalue&team=red", "autoApprove": ["search"], "timeout": 60 },
    "signed": { "url": "https://signed.example/mcp", "auth": { "CLIENT_ID": "abc", "CLIENT_SECRET": "hush", "scopes": ["read", "write"] } },
    "off": { "command": "off", "disabled": true }
  }
}`

/** `.vscode/mcp.json`, with comments. */
export const VSCODE = `// MCP servers of this workspace
{
  "inputs": [
    { "type": "promptString", "id": "perplexity-key", "description": "Perplexity API Key", "password": true },
    { "type": "promptString", "id": "region", "description": "Region", "default": "eu" },
    { "type": "command", "id": "picked", "command": "extension.pick" },
  ],
  "servers": {
    /* asks for a key */
    "perplexity": {
      "type": "stdio", "command": "npx", "args": ["-y", "server-perplexity-ask", "--region", "\${input:region}"],
      "env": { "PERPLEXITY_API_KEY": "\${input:perplexity-key}" },
    },
    "GitHub.copilot": { "type": "http", "url": "https://api.githubcopilot.com/mcp/", "gallery": true },
    "picked": { "command": "a", "args": ["\${input:picked}"] },
    "strange": { "command": "a", "args": ["\${command:extension.run}", "\${config:x.y}"] },
  },
}`
