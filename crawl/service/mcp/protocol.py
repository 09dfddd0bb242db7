"""The tools as a server of the package `mcp`, whatever its messages come over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from crawl.errors import CrawlError, ServiceFault, UsageError
from crawl.printable import printable
from crawl.service.mcp.arguments import read_arguments, schema_of
from crawl.service.mcp.calling import Ask
from crawl.service.mcp.results import ToolResult, error_result
from crawl.service.mcp.tools import BY_NAME, INSTRUCTIONS, TOOLS, Tool
from crawl.service.mcp.untrusted import Nonce, drawn_nonce
from crawl.version import __version__

Context = ServerRequestContext[Any, Any]
AskOf = Callable[[Context], Awaitable[Ask]]
"""Who answers a call: with the key of whoever sent it, where each request has its own."""


def server_of(ask_of: AskOf, nonce: Nonce = drawn_nonce) -> Server[Any]:
    """The server; each of its transports is run by its own module."""
    listed = types.ListToolsResult(tools=[_described(each) for each in TOOLS])

    async def list_tools(
        context: Context, asked: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, asked: types.CallToolRequestParams) -> Any:
        tool = BY_NAME.get(asked.name)
        if tool is None:
            raise _invalid(f"there is no tool {printable(asked.name, 100)!r}")
        try:
            arguments = read_arguments(asked.arguments, tool.arguments)
            result = await tool.call(await ask_of(context), arguments, nonce)
        except UsageError as error:
            raise _invalid(f"{tool.name}: {printable(str(error), 500)}") from None
        except ServiceFault as fault:
            result = error_result(fault)
        except CrawlError as error:
            result = error_result(ServiceFault(str(error), code="unavailable"))
        return _answered(result)

    return Server(
        "nutria",
        version=__version__,
        title="Nutria",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: (
            schema_of(BY_NAME[name].arguments) if name in BY_NAME else None
        ),
    )


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.arguments),
        output_schema=dict(tool.output),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            idempotent_hint=tool.is_idempotent,
            open_world_hint=tool.is_of_the_web,
        ),
    )


def _answered(result: ToolResult) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=result.values,
        is_error=result.is_error,
    )


def _invalid(message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message)
